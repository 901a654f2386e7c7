"""A layer of the network as the card sees it: its shape, and how many rows of 16 words it takes."""

from dataclasses import dataclass
from functools import cached_property

from hw.fa3c.rows import ROW
from hw.shell.command import round_up

__all__ = ["Layer"]


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A layer as the card sees it; a fully connected one is a convolution of one pixel.

    kernel, stride : of a convolution; 1 of a fully connected layer
    in_height, in_width : pixels that its taps reach
    in_channels : channels of a pixel, filled up; all inputs of a fully connected layer
    out_height, out_width : pixels
    filters : outputs of a pixel as the network has them
    per_row : inputs in a row of memory, 16 words or 64 bytes
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
        """Filters, filled up to whole rows."""
        return round_up(self.filters, ROW)

    @cached_property
    def groups(self):
        """Rows of an output pixel."""
        return self.out_channels // ROW

    @cached_property
    def line_rows(self):
        """Rows of a line of inputs."""
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
        """Products of one output, and rows of weights of a group of 16 outputs."""
        return self.kernel * self.kernel * self.in_channels

    @cached_property
    def group_rows(self):
        """Rows of a group in memory: weights, the bias, zeros up to whole patches of 16 rows."""
        return round_up(self.depth + 1, ROW)

    @cached_property
    def rows(self):
        """Rows of all parameters in memory."""
        return self.groups * self.group_rows

    @cached_property
    def gradient_rows(self):
        """Rows of its gradient: weights and biases, and nothing that only fills up."""
        return self.groups * (self.depth + 1)

    @cached_property
    def products(self):
        """Multiply-accumulates of one sample, forward."""
        return self.out_height * self.out_width * self.out_channels * self.depth
