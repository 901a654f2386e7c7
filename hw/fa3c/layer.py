"""A layer of the network in card memory: its shape, and the rows of 16 words that it takes."""

from dataclasses import dataclass
from functools import cached_property

from hw.fa3c.rows import ROW
from hw.shell.command import round_up

__all__ = ["Layer", "layers_of"]


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


def layers_of(config):
    """A tuple of every Layer of the network of a Fa3cConfig, first to last.

    A convolution computes only the pixels that the taps of the next convolution reach: the
    gradient of all other pixels is 0.
    """
    sizes, channels = [(config.height, config.width)], [config.in_channels]
    for filters, kernel, stride in config.convolutions:
        sizes.append(tuple((size - kernel) // stride + 1 for size in sizes[-1]))
        channels.append(round_up(filters, ROW))
    per_row = ROW if config.binary32 else 4 * ROW
    layers, (height, width) = [], sizes[-1]
    for place in reversed(range(len(config.convolutions))):
        filters, kernel, stride = config.convolutions[place]
        in_height, in_width = ((size - 1) * stride + kernel for size in (height, width))
        layers.insert(
            0,
            Layer(
                convolution=True,
                kernel=kernel,
                stride=stride,
                in_height=in_height,
                in_width=in_width,
                in_channels=channels[place],
                out_height=height,
                out_width=width,
                filters=filters,
                per_row=ROW if place else per_row,
            ),
        )
        height, width = in_height, in_width
    rows, columns = sizes[-1]
    inputs = rows * columns * channels[-1]
    if not layers:
        inputs = round_up(inputs, per_row)
    for count in (*config.hidden, config.outputs):
        first = not layers
        layers.append(
            Layer(
                convolution=False,
                kernel=1,
                stride=1,
                in_height=1,
                in_width=1,
                in_channels=inputs,
                out_height=1,
                out_width=1,
                filters=count,
                per_row=per_row if first else ROW,
            )
        )
        inputs = round_up(count, ROW)
    return tuple(layers)
