"""Errors on their way from a layer to the layer below: words come in, elements leave in the order
of outputs.

One word and one element a clock.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.estimate import Estimate, selector, together
from hw.nn.layouts import vector_layout
from hw.stream.queue import Queue

__all__ = ["DeltaBuffer"]


class DeltaBuffer(wiring.Component):
    """Takes the gradients of a layer's inputs in words, and passes on elements ``first`` to
    ``first + count - 1`` of each sample, of the groups in ``groups``, to the layer that made these
    inputs. All other elements are dropped. A sample here is one of each lane.

    Parameters
    ----------
    config : LayerConfig
    layer : LayerShape
        The layer whose input gradients these are.
    groups : sequence of int
        Which of the arriving ``backward_groups`` are passed on.
    first, count : int
        First element that is passed on, and how many are.

    Attributes
    ----------
    SAMPLES : int
        The most samples that may have begun and not yet left.

    Members
    -------
    dx : In({valid, value: [backward_groups][lanes][vector]})
        A word of gradients in each clock in which ``valid`` is high, in order, without
        back-pressure: ``begun`` has taken a place for the sample (``docs/flow_control.md``).
    begun : In(1), room : Out(1)
        ``begun``, a pulse: ``Backward`` begins a sample. ``room``: it may begin one.
    o : Out(stream of [groups][lanes])
        Elements ``first``, ``first + 1``, ... of a sample, one at a time.
    """

    SAMPLES = 2

    def __init__(self, config, layer, *, backward_groups, groups, first, count):
        self.config, self.layer, self.groups = config, layer, tuple(groups)
        self.first, self.count = first, count
        shape, lanes = config.arithmetic.shape("gradient"), config.lanes
        value = vector_layout(shape, backward_groups, lanes, layer.vector)
        self._kept = vector_layout(shape, len(self.groups), lanes, layer.vector)
        super().__init__(
            {
                "dx": In(data.StructLayout({"valid": 1, "value": value})),
                "begun": In(1),
                "room": Out(1),
                "o": Out(stream.Signature(vector_layout(shape, len(self.groups), lanes))),
            }
        )

    @classmethod
    def latency_of(cls, layer):
        """Clocks from a word in ``dx`` to its first element in ``o``, if the buffer is empty."""
        return Queue.latency_of(cls.SAMPLES * layer.words)

    @classmethod
    def estimate(cls, config, layer, groups):
        """Resources of a buffer that passes ``groups`` groups on."""
        number = groups * config.lanes * Shape.cast(config.arithmetic.shape("gradient")).width
        counters = sum((size - 1).bit_length() for size in (layer.words, layer.vector)) + 2
        logic = Estimate(lut=number * selector(layer.vector) + 2 * counters, ff=counters)
        queue = Queue.estimate(number * layer.vector, cls.SAMPLES * layer.words)
        return together([queue, logic])

    def elaborate(self, platform):
        m = Module()
        layer, vector, lanes = self.layer, self.layer.vector, self.config.lanes
        m.submodules.queue = queue = Queue(self._kept, self.SAMPLES * layer.words)
        m.d.comb += queue.i.valid.eq(self.dx.valid)
        for k, group in enumerate(self.groups):
            m.d.comb += queue.i.payload[k].eq(self.dx.value[group])

        word, place = Signal(range(layer.words)), Signal(range(vector))
        element = Signal(range(layer.words * vector))
        inside, step, last = Signal(), Signal(), Signal()
        m.d.comb += [
            element.eq(Cat(place, word) if vector > 1 else word),
            inside.eq((element >= self.first) & (element < self.first + self.count)),
            self.o.valid.eq(queue.o.valid & inside),
            step.eq(queue.o.valid & (self.o.ready | ~inside)),
            last.eq(step & (place == vector - 1)),
            queue.o.ready.eq(last),
        ]
        with m.If(step):
            m.d.sync += place.eq(Mux(last, 0, place + 1))
        with m.If(last):
            m.d.sync += word.eq(Mux(word == layer.words - 1, 0, word + 1))
        for k in range(len(self.groups)):
            for lane in range(lanes):
                numbers = Value.cast(queue.o.payload[k][lane])
                width = len(numbers) // vector
                m.d.comb += self.o.payload[k][lane].eq(numbers.word_select(place, width))

        used = Signal(range(self.SAMPLES + 1))
        m.d.sync += used.eq(used + self.begun - (last & (word == layer.words - 1)))
        m.d.comb += self.room.eq(used != self.SAMPLES)
        return m
