"""A layer of the network in card memory: its shape, and the rows of 16 words that it takes."""

from dataclasses import dataclass
from functools import cached_property

from hw.fa3c.rows import ROW
from hw.shell.command import round_up

__all__ = ["Layer"]


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A layer in card memory; a fully connected layer is a convolution of one pixel.

    convolution : whether it is a convolution; otherwise it is fully connected
    kernel, stride : side of the square kernel and distance of its positions; 1 if fully connected
    in_height, in_width : pixels of the input that the taps reach
    in_channels : channels of an input pixel, with padding; all inputs of a fully connected layer
    out_height, out_width : pixels of the output
    filters : channels of an output pixel, without padding; all outputs of a fully connected layer
    per_row : inputs in a row of memory: 16 if each is a word, 64 if each is a byte
    """

    convolution: bool
    kernel: int
    stride: int
    in_height: int
    in_width: int
    in_channels: int
    out_height: int
    out_width: int
    filters: int
    per_row: int = ROW

    @cached_property
    def out_channels(self):
        """Filters, rounded up to whole rows."""
        return round_up(self.filters, ROW)

    @cached_property
    def groups(self):
        """Rows of an output pixel."""
        return self.out_channels // ROW

    @cached_property
    def line_rows(self):
        """Rows of a line of inputs: the pixels side by side, with all their channels."""
        return -(-self.in_width * self.in_channels // self.per_row)

    @cached_property
    def in_rows(self):
        """Rows of the whole input of one sample."""
        return self.in_height * self.line_rows

    @cached_property
    def out_rows(self):
        """Rows of the whole output of one sample."""
        return self.out_height * self.out_width * self.groups

    @cached_property
    def depth(self):
        """Number of products in one output; a group of 16 outputs has as many rows of weights."""
        return self.kernel * self.kernel * self.in_channels

    @cached_property
    def group_rows(self):
        """Rows of a group in memory: weights, the bias, zeros up to a multiple of 16 rows."""
        return round_up(self.depth + 1, ROW)

    @cached_property
    def rows(self):
        """Rows of all parameters of the layer in memory."""
        return self.groups * self.group_rows

    @cached_property
    def gradient_rows(self):
        """Rows of the layer's gradient: weights and biases, without padding."""
        return self.groups * (self.depth + 1)

    @cached_property
    def products(self):
        """Multiply-accumulates of FW for one sample."""
        return self.out_height * self.out_width * self.out_channels * self.depth
