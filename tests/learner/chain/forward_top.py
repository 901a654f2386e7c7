"""``Forward`` with its parameter memories: reads of ``READ_LATENCY`` from constant contents."""

from amaranth import *
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.chain.forward import Forward
from hw.learner.memory_ports import READ_LATENCY
from hw.stream.delay import delay

__all__ = ["ForwardTop"]


class ForwardTop(wiring.Component):
    """``contents`` [length][depth] and ``biases`` [outputs] are raw words of the memories."""

    def __init__(self, config, layer, weight_sources, contents, biases):
        self.forward = forward = Forward(config, layer, weight_sources)
        self.contents, self.biases = contents, biases
        super().__init__(
            {
                "i": In(stream.Signature(forward.i.payload.shape())),
                "room": In(1),
                "o_valid": Out(1),
                "o_index": Out(max(1, len(forward.o.index))),
                "o_value": Out(len(forward.o.value.as_value())),
                "started": Out(1),
                "idle": Out(1),
                "saturations": Out(len(forward.saturations)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.forward = forward = self.forward
        wiring.connect(m, wiring.flipped(self.i), forward.i)
        m.d.comb += [
            forward.room.eq(self.room),
            self.o_valid.eq(forward.o.valid),
            self.o_index.eq(forward.o.index),
            self.o_value.eq(forward.o.value.as_value()),
            self.started.eq(forward.started),
            self.idle.eq(forward.idle),
            self.saturations.eq(forward.saturations),
        ]
        port = forward.memory
        for position, words in enumerate(self.contents):
            self._read(m, words, port.address[position], port.weight[position], f"pe_{position}")
        self._read(m, self.biases, port.bias_address, port.bias, "bias")
        return m

    def _read(self, m, words, address, port, name):
        """``port`` is the word at ``address``, READ_LATENCY clocks later."""
        width = len(port.as_value())
        m.submodules[name] = bank = memory.Memory(
            shape=width, depth=max(2, len(words)), init=[*words, *[0] * (2 - len(words))]
        )
        read = bank.read_port()
        m.d.comb += [read.en.eq(1), read.addr.eq(address)]
        m.d.comb += port.as_value().eq(delay(m, read.data, READ_LATENCY - 1, name=f"{name}_data"))
