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
    """Those of ``PARAMETER_SETS`` that ``config.optimizer`` has: sgd lacks "second", rmsprop lacks
    "first"."""
    lacks = {"sgd": "second", "rmsprop": "first"}.get(config.optimizer)
    return tuple(parameter_set for parameter_set in PARAMETER_SETS if parameter_set != lacks)


class ParameterMemoryShape:
    """Shapes of the words of a ``ParameterMemory``, and its memory blocks.

    Parameters
    ----------
    config : LayerConfig
    depth, vector : int
        Words of each memory, and numbers of a word.
    sum_shape : Shape
        Shape of a gradient, which is a sum over the batch.
    dual : bool
        Whether the online weights are read at two addresses in the same clock.
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
    """The memories of one PE, or of one bank of biases: online and target weights, gradients and
    the moments that the optimizer has.

    Each memory has one port that reads, and one that writes. The reading port serves forward
    (weights), backward (gradients) or, while ``scanning``, a walk. If ``shape.dual``, the writing
    port of the online weights also reads them for backward, in clocks without a write.

    Parameters
    ----------
    shape : ParameterMemoryShape
        Words, and shapes of their numbers.

    Members
    -------
    scanning : In(1)
        1: a walk reads, at ``weights_address`` and ``moments_address``. 0: the passes read, at
        ``forward_address`` and ``backward_address``.
    forward_address, backward_address : In(range(depth))
        The word of online and target that forward reads; the word of gradients, and of ``weight``,
        that backward reads.
    weights_address, moments_address : In(range(depth))
        The word of online and target that a walk reads; that of first, second and gradient.
    online, target, first, second, gradient : Out(array of numbers)
        The word that was read, READ_LATENCY clocks after its address; 0 for a moment that the
        optimizer lacks.
    weight : Out(array of numbers)
        The word of online at ``backward_address``, READ_LATENCY clocks later; 0 if not ``dual``.
    gradient_write : In(gradient_write_layout)
        The backward pass writes a word of gradients.
    write_enable : In({online, target, first, second})
        A bit for each memory: a walk writes it in this clock.
    write_weights_address, write_moments_address : In(range(depth))
        Where a walk writes: in online and target; in first and second.
    write_online, write_target, write_first, write_second : In(array of numbers)
        The new word of each memory.
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
