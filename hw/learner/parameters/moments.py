"""The moments of a layer's parameters, in the order of its image, a part a word.

Interval 1. ``READ_LATENCY`` = 2 clocks from an address to its word.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.config import stored_sets
from hw.nn.layouts import vector_layout
from hw.stream.ram import Ram, style_of

__all__ = ["MOMENTS", "Moments"]

#: Those of ``PARAMETER_SETS`` that only an update reads.
MOMENTS = ("first", "second")
_MOMENT = unsigned(32)


class Moments(wiring.Component):
    """Memories of the optimizer's moments, ``shape.parts`` words deep. Each image word has a memory
    block of its own, so that it can be written by itself.

    Parameters
    ----------
    config : LayerConfig
    shape : BlockShape

    Members
    -------
    address : In(range(parts))
        Its part of ``first`` and of ``second`` [part] comes READ_LATENCY clocks later. A moment
        that the optimizer lacks is 0.
    hidden : In({first, second})
        A bit for each image word of a part, a clock after ``address``: it is read as zeros.
    write : In({address, enable, first, second})
        A part, and a bit for each image word: it is written.
    """

    def __init__(self, config, shape):
        self.shape = shape
        self.sets = tuple(name for name in MOMENTS if name in stored_sets(config))
        bits = data.StructLayout(dict.fromkeys(MOMENTS, shape.part // shape.image_word))
        part = vector_layout(_MOMENT, shape.part)
        write = {"address": range(shape.parts), "enable": bits} | dict.fromkeys(MOMENTS, part)
        super().__init__(
            {
                "address": In(range(shape.parts)),
                "hidden": In(bits),
                "first": Out(part),
                "second": Out(part),
                "write": In(data.StructLayout(write)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        shape, write = self.shape, self.write
        width, depth = shape.image_word * _MOMENT.width, shape.parts
        for name in self.sets:
            for word in range(shape.part // shape.image_word):
                ram = Ram(width=width, depth=depth, style=style_of(depth))
                m.submodules[f"{name}_{word}"] = ram
                # The second clock of READ_LATENCY.
                register = Signal(width, name=f"{name}_{word}_word", reset_less=True)
                m.d.comb += [
                    ram.read_address.eq(self.address),
                    ram.write_enable.eq(write.enable[name][word]),
                    ram.write_address.eq(write.address),
                    ram.write_data.eq(Value.cast(write[name]).word_select(word, width)),
                    Value.cast(getattr(self, name)).word_select(word, width).eq(register),
                ]
                m.d.sync += register.eq(ram.read_data)
                with m.If(self.hidden[name][word]):
                    m.d.sync += register.eq(0)
        return m
