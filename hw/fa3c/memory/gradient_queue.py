"""Rows of a gradient between a compute unit and RMSProp: a row a clock in and out.

The queue holds a whole gradient, so a compute unit never waits for RMSProp. FA3C (4.2.3) has two
buffers instead, each for a part of the gradient.
"""

from dataclasses import replace

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.rows import ROW_WIDTH, row_memory
from hw.shell.command import round_up
from hw.stream.queue import Queue
from hw.stream.ram import style_of

__all__ = ["GradientQueue"]

#: Rows of an UltraRAM block.
_ULTRA_ROWS = 4096


class GradientQueue(wiring.Component):
    """Rows leave ``o`` in the order in which they entered ``i``.

    Parameters
    ----------
    config : Fa3cConfig

    Attributes
    ----------
    depth : int
        Rows that the queue holds: all rows of a gradient. If the memory is UltraRAM, the number is
        rounded up to whole blocks.

    Members
    -------
    i : In(stream.Signature(unsigned(512)))
        Rows from the compute unit.
    o : Out(stream.Signature(unsigned(512)))
        Rows to RMSProp.
    """

    INTERVAL = 1

    def __init__(self, config):
        self.config = config
        row = stream.Signature(unsigned(ROW_WIDTH))
        super().__init__({"i": In(row), "o": Out(row)})

    @property
    def depth(self):
        return self._memory(self.config)[0]

    @classmethod
    def _memory(cls, config):
        """Depth and ``ram_style`` of the memory."""
        rows = sum(layer.gradient_rows for layer in config.layers)
        style = style_of(rows, config.ultra_ram)
        return round_up(rows, _ULTRA_ROWS) if style == "ultra" else rows, style

    @classmethod
    def estimate(cls, config):
        """Latency through an empty queue, and the memory blocks with the logic that selects one of
        them."""
        depth, _ = cls._memory(config)
        memory = row_memory(depth, config.ultra_ram)
        return replace(memory, latency=Queue.latency_of(depth), interval=cls.INTERVAL, dsp=0)

    def elaborate(self, platform):
        m = Module()
        depth, style = self._memory(self.config)
        m.submodules.queue = queue = Queue(unsigned(ROW_WIDTH), depth, style)
        wiring.connect(m, wiring.flipped(self.i), queue.i)
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        return m
