"""The shape of the memories of a layer's blocks, or of its biases."""

from dataclasses import dataclass
from itertools import groupby

from amaranth.hdl import Shape

from hw.learner.block.layer_clocks import READ_LATENCY, gradient_latency

__all__ = ["BlockMemoryShape"]


@dataclass(frozen=True, kw_only=True)
class BlockMemoryShape:
    """Words of [rows, columns] numbers, which are written in parts.

    weight, sums : shapes of a weight and of a gradient.
    depth : words.
    part, image_word : numbers that are written in a clock, at most, and at least.
    skew : clocks between the words of two neighbouring rows or columns.
    gradient_latency : clocks from an address to gradients, 1 or READ_LATENCY.
    dual : whether the online weights are read in columns, too.
    """

    weight: Shape
    sums: Shape
    depth: int
    rows: int
    columns: int
    part: int
    image_word: int
    skew: int
    gradient_latency: int
    dual: bool

    @classmethod
    def of_blocks(cls, config, shape, *, dual):
        """Of a layer's blocks."""
        arithmetic = config.arithmetic
        return cls(
            weight=Shape.cast(arithmetic.shape("weight")),
            sums=arithmetic.gradient_sum_shape(config.batch),
            depth=shape.blocks,
            rows=shape.input_word,
            columns=shape.output_word,
            part=shape.part,
            image_word=shape.image_word,
            skew=arithmetic.dot_skew,
            gradient_latency=gradient_latency(shape),
            dual=dual,
        )

    @classmethod
    def of_biases(cls, config, shape):
        """Of the biases of a layer's output words."""
        return cls(
            weight=Shape.cast(config.arithmetic.shape("weight")),
            sums=config.bias_sum_shape,
            depth=shape.output_words,
            rows=1,
            columns=shape.output_word,
            part=shape.part,
            image_word=shape.image_word,
            skew=0,
            gradient_latency=READ_LATENCY,
            dual=False,
        )

    @property
    def numbers(self):
        """Numbers of a word."""
        return self.rows * self.columns

    @property
    def parts(self):
        """Parts of a word."""
        return -(-self.numbers // self.part)

    @property
    def image_words(self):
        """Image words of a word."""
        return -(-self.numbers // self.image_word)

    @property
    def weight_rams(self):
        """The numbers of each memory block, in lists, of a word that is read in rows."""
        return self._rams(lambda number: number // self.columns)

    @property
    def dual_rams(self):
        """``weight_rams`` of a word that is read in columns."""
        return self._rams(lambda number: number % self.columns)

    @property
    def gradient_rams(self):
        """The numbers of each memory block of gradients, in ranges: a part each."""
        ends = range(self.part, self.numbers + self.part, self.part)
        return [range(end - self.part, min(end, self.numbers)) for end in ends]

    def _rams(self, by):
        """Lists of numbers that are written together and have the same ``by``."""

        def key(number):
            return by(number), number // self.image_word

        return [list(group) for _, group in groupby(sorted(range(self.numbers), key=key), key)]
