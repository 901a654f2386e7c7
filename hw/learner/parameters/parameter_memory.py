"""The memories of one PE: weights, the target's, gradients, moments; and those of the biases.

A word is ``vector`` numbers. ``READ_LATENCY`` = 2 clocks from an address to its word.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.estimate import Estimate, together
from hw.learner.config import PARAMETER_SETS
from hw.learner.memory_ports import gradient_write_layout
from hw.nn.layouts import vector_layout
from hw.stream.ram import Ram, RamDual, style_of

__all__ = ["ParameterMemory", "ParameterMemoryShape", "stored_sets"]


def stored_sets(config):
    """The ``PARAMETER_SETS`` that the optimizer has."""
    lacks = {"sgd": "second", "rmsprop": "first"}.get(config.optimizer)
    return tuple(parameter_set for parameter_set in PARAMETER_SETS if parameter_set != lacks)


class ParameterMemoryShape:
    """Shapes of the words of a ``ParameterMemory``, and its memory blocks.

    Parameters
    ----------
    config : LayerConfig
    depth, vector : int
        Words, and numbers of a word.
    sum_shape : Shape
        Of a gradient.
    dual : bool
        The weights are read at two addresses at a time.
    """

    #: What a walk reads and writes later than the others, see ``optimizer.timing``.
    WEIGHTS = ("online", "target")

    def __init__(self, config, depth, vector, sum_shape, *, dual):
        self.depth, self.vector, self.dual = depth, vector, dual
        self.sets = stored_sets(config)
        weight = config.arithmetic.shape("weight")
        self.words = {
            name: vector_layout(shape, vector)
            for name, shape in (
                ("online", weight),
                ("target", weight),
                ("first", unsigned(32)),
                ("second", unsigned(32)),
                ("gradient", sum_shape),
            )
        }
        self._widths = {name: Shape.cast(word).width for name, word in self.words.items()}
        self.style = style_of(depth)
        self.memories = (*self.sets, "gradient")

    def is_dual(self, name):
        return self.dual and name == "online"

    def width(self, name):
        """Bits of a word of a memory."""
        return self._widths[name]

    @property
    def estimate(self):
        """Resources of a ``ParameterMemory`` of this shape."""
        duals = [name for name in self.memories if self.is_dual(name)]
        # The register of each port that reads; two ports that read choose an address, three if one
        # of them writes too.
        registers = sum(self.width(name) for name in (*self.memories, *duals))
        addresses = (2 + len(duals)) * (self.depth - 1).bit_length()
        memories = [
            (RamDual if name in duals else Ram).estimate(self.width(name), self.depth, self.style)
            for name in self.memories
        ]
        return together([*memories, Estimate(lut=addresses, ff=registers)])


class ParameterMemory(wiring.Component):
    """Port a of a memory reads for forward (weights), backward (gradients) or a walk; the other
    reads the weights for backward, and writes.

    Parameters
    ----------
    shape : ParameterMemoryShape
        Words, and shapes of their numbers.

    Members
    -------
    scanning : In(1)
        A walk has the memories; other addresses are not looked at.
    forward_address, backward_address : In(range(depth))
        Words that the passes read, except while ``scanning``.
    weights_address, moments_address : In(range(depth))
        Of walks: of online and target; of first, second and gradient.
    online, target, first, second, gradient : Out(array of numbers)
        READ_LATENCY after their address; 0 where the optimizer has none.
    weight : Out(array of numbers)
        Of ``backward_address``; 0 if not ``dual``.
    gradient_write : In(gradient_write_layout)
        The backward pass writes a word of gradients.
    write_enable : In({online, target, first, second})
        Which memories a walk writes in this clock.
    write_weights_address, write_moments_address : In(range(depth))
        Their word: of online and target; of first and second.
    write_online, write_target, write_first, write_second : In(array of numbers)
        The new word of each.
    """

    def __init__(self, shape):
        self.shape = shape
        words, address = shape.words, In(range(shape.depth))
        write = gradient_write_layout(
            Shape.cast(words["gradient"].elem_shape), shape.depth, shape.vector
        )
        super().__init__(
            {
                "scanning": In(1),
                "forward_address": address,
                "backward_address": address,
                "weights_address": address,
                "moments_address": address,
                **{name: Out(word) for name, word in words.items()},
                "weight": Out(words["online"]),
                "gradient_write": In(write),
                "write_enable": In(data.StructLayout(dict.fromkeys(PARAMETER_SETS, 1))),
                "write_weights_address": address,
                "write_moments_address": address,
                **{
                    f"write_{parameter_set}": In(words[parameter_set])
                    for parameter_set in PARAMETER_SETS
                },
            }
        )

    def elaborate(self, platform):
        m = Module()
        shape = self.shape
        forward, backward = Signal(range(shape.depth)), Signal(range(shape.depth))
        m.d.comb += [
            forward.eq(Mux(self.scanning, self.weights_address, self.forward_address)),
            backward.eq(Mux(self.scanning, self.moments_address, self.backward_address)),
        ]
        for name in shape.memories:
            weights = name in shape.WEIGHTS
            if name == "gradient":
                enable, address, value = (
                    self.gradient_write.enable,
                    self.gradient_write.address,
                    self.gradient_write.value,
                )
            else:
                enable, value = self.write_enable[name], getattr(self, f"write_{name}")
                address = self.write_weights_address if weights else self.write_moments_address
            ram = (RamDual if shape.is_dual(name) else Ram)(
                width=Shape.cast(shape.words[name]).width, depth=shape.depth, style=shape.style
            )
            m.submodules[f"{name}_ram"] = ram
            if shape.is_dual(name):
                m.d.comb += [
                    ram.a_address.eq(forward),
                    ram.b_write_enable.eq(enable),
                    ram.b_address.eq(Mux(enable, address, self.backward_address)),
                    ram.b_write_data.eq(value),
                ]
                read = ram.a_read_data
                self._register(m, self.weight, ram.b_read_data, "weight")
            else:
                m.d.comb += [
                    ram.read_address.eq(forward if weights else backward),
                    ram.write_enable.eq(enable),
                    ram.write_address.eq(address),
                    ram.write_data.eq(value),
                ]
                read = ram.read_data
            self._register(m, getattr(self, name), read, name)
        return m

    def _register(self, m, word, read, name):
        """The second clock of ``READ_LATENCY``: a block RAM has this register inside."""
        register = Signal(len(read), name=f"{name}_word", reset_less=True)
        m.d.sync += register.eq(read)
        m.d.comb += Value.cast(word).eq(register)
