"""The blocks of a layer: how its weights are cut, and what a unit of a block is told."""

from dataclasses import dataclass

from amaranth.lib import data

from hw.config import ConfigBase, check_range
from hw.errors import UsageError

__all__ = ["BlockShape", "column_block", "row_block"]

#: Numbers of a word, at most: a sum of 16 products of 27 x 18 bits is the 48 bits of a DSP block.
MAX_WORD = 16


@dataclass(frozen=True, kw_only=True)
class BlockShape(ConfigBase):
    """The weights of a layer, [outputs, inputs], in blocks of [output_word, input_word]: a block a
    clock. Words that are not full are filled up with zeros.

    inputs, outputs : numbers that go in and come out, at least 1 each.
    input_word, output_word : 1 to 16 numbers of a word that goes in, V, and that comes out, W.
    interleave : input words whose sums are kept apart, a power of two and at most ``input_words``.
    In binary32 the loop of an adder takes so many; fixed point needs 1.
    """

    inputs: int
    outputs: int
    input_word: int = 1
    output_word: int = 1
    interleave: int = 1

    def __post_init__(self):
        check_range("inputs", self.inputs, 1, 1 << 16)
        check_range("outputs", self.outputs, 1, 1 << 16)
        check_range("input_word", self.input_word, 1, MAX_WORD)
        check_range("output_word", self.output_word, 1, MAX_WORD)
        check_range("interleave", self.interleave, 1, 1 << 16)
        if self.interleave & (self.interleave - 1):
            raise UsageError(f"interleave must be a power of two, not {self.interleave!r}")
        words = -(-self.inputs // self.input_word)
        if self.interleave > 1 << (words - 1).bit_length():
            raise UsageError(
                f"interleave must be at most the input words, {words}, up to a power of two, "
                f"not {self.interleave!r}"
            )

    @property
    def input_words(self):
        """Input words, I, a multiple of ``interleave``."""
        return -(-self.inputs // (self.input_word * self.interleave)) * self.interleave

    @property
    def output_words(self):
        """Output words, O."""
        return -(-self.outputs // self.output_word)

    @property
    def returns(self):
        """Whether a sum takes more than one word, and so is read again."""
        return self.input_words > self.interleave


def column_block(shape):
    """The layout of what a column is told of a block: that there is one (``valid``); whether its
    input word i is one of the ``first`` or of the ``last`` ``interleave`` words; which of these
    it is, ``apart`` = i mod interleave; and its ``output`` word."""
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
    """The layout of what a row is told of a block: that there is one, and its ``output`` word. The
    blocks of an input word come in consecutive clocks."""
    return data.StructLayout({"valid": 1, "output": range(shape.output_words)})
