"""The biases of a layer, in banks: one for each update unit, so that all of them update some.

Bank k holds biases ``k * words .. k * words + words - 1``. Forward, backward, load and store see
one memory of all biases.
"""

from amaranth import *

from hw.estimate import Estimate, chosen_tables, times, together
from hw.learner.memory_ports import READ_LATENCY, bias_sum_shape
from hw.learner.parameters.parameter_memory import ParameterMemory, ParameterMemoryShape
from hw.stream.delay import delay

__all__ = ["BiasBanks"]


class BiasBanks:
    """The memories of a layer's biases: banks that are visited at the same time in an update, one
    by each update unit. To forward, backward, load and store they are one memory.

    Parameters
    ----------
    config : LayerConfig
    layer : LayerShape
    units : int
        Update units; there are at most as many banks.

    Attributes
    ----------
    words : int
        Biases of a bank. It is a power of two if there are several banks; the last bank may have
        fewer biases.
    count : int
        How many banks there are.
    shape : ParameterMemoryShape
        The shape of one bank.
    """

    def __init__(self, config, layer, units):
        self.layer = layer
        share = -(-layer.outputs // units)
        self.words = min(1 << (share - 1).bit_length(), layer.outputs)
        self.count = -(-layer.outputs // self.words)
        sums = bias_sum_shape(config)
        self.shape = ParameterMemoryShape(config, self.words, 1, sums, dual=False)

    @property
    def estimate(self):
        """Resources of the banks, and of what selects the word of one."""
        read = sum(self.shape.width(name) for name in ("online", "target", "gradient"))
        chosen = Estimate(
            lut=read * chosen_tables(self.count), ff=READ_LATENCY * (3 * self.count - 2)
        )
        return together([times(self.count, self.shape.estimate), chosen])

    def select(self, address):
        """A bit for each bank: bit k is 1 if the bias number ``address`` is in bank k."""
        if self.count == 1:
            return Const(1, 1)
        number = address >> self.words.bit_length() - 1
        return Cat(number == k for k in range(self.count))

    def scanned(self, walk, parallel):
        """A bit for each bank: bit k is 1 if the ParameterWalk ``walk`` visits a bias of bank k in
        this clock. If ``parallel`` is 1, a walk visits all banks at the same time."""
        alone = self.select(walk.address) | parallel.replicate(self.count)
        return alone & walk.bias.replicate(self.count)

    def real(self, address, bank):
        """1 if ``address`` of bank number ``bank`` holds a bias, 0 if it is past the layer's last
        bias."""
        last = self.layer.outputs - bank * self.words
        return Const(1, 1) if last >= self.words else address < last

    def attach(self, m, forward, backward):
        """Adds the banks to ``m``, wires them to the memory ports ``forward`` and ``backward`` of
        the layer's chains, and returns them: a list of ParameterMemory. The caller wires walks."""
        banks = [ParameterMemory(self.shape) for _ in range(self.count)]
        written = self.select(backward.bias_write.address)
        for k, bank in enumerate(banks):
            m.submodules[f"bias_bank_{k}"] = bank
            m.d.comb += [
                bank.forward_address.eq(forward.bias_address),
                bank.backward_address.eq(backward.bias_address),
                bank.gradient_write.enable.eq(backward.bias_write.enable & written[k]),
                bank.gradient_write.address.eq(backward.bias_write.address),
                Value.cast(bank.gradient_write.value).eq(Value.cast(backward.bias_write.value)),
            ]
        reads = (
            (forward.bias_address, forward.bias.online, "online"),
            (forward.bias_address, forward.bias.target, "target"),
            (backward.bias_address, backward.bias_gradient, "gradient"),
        )
        for address, port, name in reads:
            read = delay(m, self.select(address), READ_LATENCY, name=f"bias_{name}_bank")
            with m.Switch(read):
                for k, bank in enumerate(banks):
                    with m.Case("-" * (self.count - 1 - k) + "1" + "-" * k):
                        m.d.comb += port.eq(getattr(bank, name)[0])
        return banks
