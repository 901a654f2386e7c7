"""The blocks of a layer: how its weights are cut, and the control signals of a block."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from amaranth.lib import data

from hw.config import ConfigBase, check_range, later
from hw.errors import UsageError
from hw.nn.activation import ACTIVATIONS

__all__ = ["MAX_WORD", "MEMORY_CLOCKS", "BlockShape", "column_block", "row_block"]

#: Numbers of a word, at most: a sum of 16 products of 27 x 18 bits is the 48 bits of a DSP block.
MAX_WORD = 16
#: Clocks of a memory that is read and written, besides those of the addition between.
MEMORY_CLOCKS = 2
#: Numbers of a word of the parameter image, at most: the narrowest master carries four.
_IMAGE_WORD = 4


@dataclass(frozen=True, kw_only=True)
class BlockShape(ConfigBase):
    """The weights of a layer, [outputs, inputs], in blocks of [output_word, input_word]: a block a
    clock, block (i, o) from input word i to output word o at address ``i * output_words + o``.
    Words that are not full are filled up with zeros, and so are their weights.

    inputs, outputs : numbers that go in and come out, at least 1 each.
    input_word, output_word : 1 to 16 numbers of a word that goes in, V, and that comes out, W.
    interleave : input words with separate sums, a power of two and at most ``input_words``; in
        binary32 they fill the loop of an adder, in fixed point 1.
    activation : the function of the outputs, a name in ``ACTIVATIONS``.
    joined : number of inputs, the last ones, that are outputs of another network. They begin at a
        word of their own.
    part : numbers of a block that are updated at the same time, each by an optimizer of its own; a
        power of two.
    free : number of outputs, the last ones, that are only biases: their weights are padding.
    """

    inputs: int
    outputs: int
    input_word: int = 1
    output_word: int = 1
    interleave: int = 1
    activation: str = "linear"
    joined: int = 0
    part: int = 1
    # Not in the text of a shape, which names modules: none that is named so knows free outputs.
    free: int = later(0, repr=False)

    def __post_init__(self):
        check_range("inputs", self.inputs, 1, 1 << 16)
        check_range("outputs", self.outputs, 1, 1 << 16)
        check_range("input_word", self.input_word, 1, MAX_WORD)
        check_range("output_word", self.output_word, 1, MAX_WORD)
        check_range("interleave", self.interleave, 1, 1 << 16)
        check_range("joined", self.joined, 0, self.inputs, " (inputs)")
        check_range("part", self.part, 1, MAX_WORD * MAX_WORD)
        check_range("free", self.free, 0, self.outputs - 1, " (outputs - 1)")
        for name in ("interleave", "part"):
            value = getattr(self, name)
            if value & (value - 1):
                raise UsageError(f"{name} must be a power of two, not {value!r}")
        if self.activation not in tuple(ACTIVATIONS):
            raise UsageError(
                f"activation must be one of {', '.join(ACTIVATIONS)}, not {self.activation!r}"
            )
        if self.interleave > 1 << (self._words - 1).bit_length():
            raise UsageError(
                f"interleave must be at most the input words, {self._words}, up to a power of two, "
                f"not {self.interleave!r}"
            )

    @cached_property
    def _words(self):
        return self.joined_word + self.joined_words

    @cached_property
    def joined_word(self):
        """The input word that begins with the first of the ``joined`` inputs."""
        return -(-(self.inputs - self.joined) // self.input_word)

    @cached_property
    def joined_words(self):
        """Input words of the ``joined`` inputs."""
        return -(-self.joined // self.input_word)

    @cached_property
    def input_words(self):
        """Input words, I, a multiple of ``interleave``."""
        return -(-self._words // self.interleave) * self.interleave

    @cached_property
    def output_words(self):
        """Output words, O."""
        return -(-self.outputs // self.output_word)

    @cached_property
    def blocks(self):
        """Blocks, T = I O: the clocks of a super-sample."""
        return self.input_words * self.output_words

    @cached_property
    def multipliers(self):
        """Multipliers of a lane and data path, V W."""
        return self.input_word * self.output_word

    @property
    def weights(self):
        """Weights without padding."""
        return self.inputs * self.outputs

    @property
    def returns(self):
        """Whether a sum takes more than one word, and so is read again."""
        return self.input_words > self.interleave

    def input_words_filled(self):
        """How many numbers of each input word are inputs, the first ones; the others are zeros."""
        own = self.inputs - self.joined
        places = [
            min(self.input_word, max(0, own - word * self.input_word))
            for word in range(self.joined_word)
        ]
        places += [
            min(self.input_word, max(0, self.joined - word * self.input_word))
            for word in range(self.input_words - self.joined_word)
        ]
        return tuple(places)

    def output_words_filled(self):
        """How many numbers of each output word are outputs, the first ones."""
        return self._in_output_words(self.outputs)

    def output_words_weighted(self):
        """How many numbers of each output word are outputs with weights, the first ones: they are
        not free."""
        return self._in_output_words(self.outputs - self.free)

    def _in_output_words(self, count):
        return tuple(
            min(self.output_word, max(0, count - word * self.output_word))
            for word in range(self.output_words)
        )

    # The parameter image: blocks in parts, then biases in parts.

    @cached_property
    def weight_parts(self):
        """Parts of a block."""
        return -(-self.multipliers // self.part)

    @cached_property
    def bias_parts(self):
        """Parts of the biases of an output word."""
        return -(-self.output_word // self.part)

    @cached_property
    def parts(self):
        """Parts of all parameters: the clocks of an update's walk."""
        return self.blocks * self.weight_parts + self.output_words * self.bias_parts

    def updated_in(self, clocks):
        """The shape with the smallest ``part`` such that ``parts`` is at most ``clocks``; itself if
        none is."""
        part = 1
        while part < self.part:
            shape = replace(self, part=part)
            if shape.parts <= clocks:
                return shape
            part *= 2
        return self

    @property
    def image_word(self):
        """Numbers of a word of a section of the parameter image: of a part, four at most."""
        return min(self.part, _IMAGE_WORD)

    @cached_property
    def image_words(self):
        """Words of a section without the padding at its end."""
        return self.parts * (self.part // self.image_word)

    @cached_property
    def numbers(self):
        """4-byte numbers of a section of the parameter image, padded to whole 64 bytes."""
        return -(-self.parts * self.part // 16) * 16

    def pack(self, weights, biases):
        """The numbers of a section of the parameter image, an array [numbers], from the arrays
        ``weights`` [outputs, inputs] and ``biases`` [outputs] of the same dtype.

        Block by block come its ``multipliers`` weights, those from its first input first, padded to
        whole parts. Then the biases come, output word by output word, each padded to whole parts.
        All padding is zeros; weights of free outputs must be.
        """
        numbers = np.zeros(self.numbers, weights.dtype)
        own, offsets = self._image
        numbers[own], numbers[offsets] = weights, biases
        return numbers

    def unpack(self, numbers):
        """``(weights, biases)``, copies, from a section's array of numbers; the inverse of
        ``pack``."""
        weights, biases = self._image
        return numbers[weights], numbers[biases]

    @cached_property
    def _image(self):
        """Where each weight [outputs, inputs] and each bias [outputs] is in a section's numbers."""
        first, second = self._of_parts(np.arange(self.numbers))
        inputs, outputs = self.input_words, self.output_words
        blocks = first[:, : self.multipliers].reshape(
            inputs, outputs, self.input_word, self.output_word
        )
        weights = blocks.transpose(1, 3, 0, 2).reshape(self._padded)[: self.outputs, self.places]
        biases = second[:, : self.output_word].reshape(-1)[: self.outputs]
        return _kept(weights), _kept(biases)

    @cached_property
    def _padded(self):
        return self.output_words * self.output_word, self.input_words * self.input_word

    @cached_property
    def places(self):
        """An array: the place of each input among all places of all input words."""
        own = self.inputs - self.joined
        first = self.joined_word * self.input_word
        return _kept(np.concatenate([np.arange(own), first + np.arange(self.joined)]))

    def _of_parts(self, numbers):
        """Views [blocks, ...] and [output_words, ...] of a section's numbers."""
        count = self.blocks * self.weight_parts * self.part
        end = self.parts * self.part
        return (
            numbers[:count].reshape(self.blocks, -1),
            numbers[count:end].reshape(self.output_words, -1),
        )


def _kept(places):
    """An array of a config, which all that ask for it share: it cannot be changed."""
    places = places.copy()
    places.flags.writeable = False
    return places


def column_block(shape):
    """Control signals of a column for a block of input word i and word ``output``.

    valid : a block is present
    first, last : i is one of the first, or of the last, ``interleave`` words
    apart : i mod ``interleave``
    """
    return data.StructLayout(
        {
            "valid": 1,
            "first": 1,
            "last": 1,
            "apart": range(shape.interleave),
            "output": range(shape.output_words),
        }
    )


def row_block(shape):
    """Control signals of a row: a block is present (``valid``), and its ``output`` word. The blocks
    of an input word come in consecutive clocks."""
    return data.StructLayout({"valid": 1, "output": range(shape.output_words)})
