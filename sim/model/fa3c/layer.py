"""Bit-exact twins of the passes of one layer (``hw.fa3c.plan``), for all samples at once.

The products of an output are added in ``chains`` chains: chain q has the products k with k mod
chains = q, from the left, and begins with its first product. The chains are then added in a tree
over neighbours. chains is the number of lanes; in a fully connected layer, lanes * partials (in BW,
lanes * error_partials).

FW   output o of a pixel: k = (ky, kx, c); + bias; ReLU in all layers but the last
GC   weight (o, k): one chain over (sample, row, column) of input * error; a bias: one of the errors
BW   channel c of an input pixel: k = o in a fully connected layer. In a convolution chain q
     has the outputs o mod chains = q, and runs over (ky, kx, o) of only those taps that meet an
     error. The error of an input that is 0 becomes +0.
"""

import numpy as np

from hw.fa3c.rows import ROW
from sim.model.fa3c import passes

__all__ = ["LayerTwin"]


class LayerTwin:
    """The passes of layer ``number`` of a ``Fa3cConfig``; it has no parameters of its own. Arrays
    are float32, in the order of memory:

    parameters : [groups, group_rows, 16]
    inputs : [samples, in_rows * per_row]; ``numbers`` makes them from bytes of memory
    outputs, errors : [samples, out_rows * 16]
    """

    def __init__(self, config, number):
        self.config, self.number, self.layer = config, number, config.layers[number]
        partials = (1, 1) if self.layer.convolution else (config.partials, config.error_partials)
        self.chains, self.error_chains = (config.lanes * each for each in partials)
        self.relu = number < len(config.layers) - 1
        self.has_bytes = self.layer.per_row > ROW

    def numbers(self, raw):
        """The layer's inputs, float32 [samples, words], from ``raw``, their bytes in memory, uint8
        [samples, bytes]. The inputs of the first layer are bytes, each of which becomes ``byte *
        2**input_exponent``; those of other layers are float32 already."""
        if not self.has_bytes:
            return np.ascontiguousarray(raw).view(np.float32)
        return raw * np.float32(2.0**self.config.input_exponent)

    def forward(self, parameters, inputs):
        """FW: the outputs."""
        out = self._pixels(np.empty((len(inputs), self.layer.out_rows * ROW), np.float32))
        shape = self._shape(len(inputs))
        passes.forward(shape, self.chains, self.relu, self._lines(inputs), parameters, out)
        return out.reshape(len(inputs), -1)

    def gradient(self, inputs, errors):
        """GC: the gradients, sums over all samples, float32 [groups, depth + 1, 16]. The first
        ``depth`` rows of a group are those of weights, the last is that of the biases."""
        layer = self.layer
        out = np.empty((layer.groups, layer.depth + 1, ROW), np.float32)
        passes.gradient(self._shape(len(inputs)), self._lines(inputs), self._pixels(errors), out)
        return out

    def backward(self, parameters, errors, inputs):
        """BW: the errors of the layer's inputs, in the shape of ``inputs``, from ``errors``, those
        of its outputs. ``inputs`` are outputs of the layer before; where one is 0, its error is
        0."""
        layer, shape = self.layer, self._shape(len(inputs))
        pixels = (layer.in_height, layer.in_width) if layer.convolution else (1, len(inputs))
        inputs = inputs.reshape(shape.samples, *pixels, -1, ROW)
        out = np.empty_like(inputs)
        passes.backward(shape, self.error_chains, parameters, self._lines(errors), inputs, out)
        return out.reshape(len(errors), -1)

    def _shape(self, samples):
        layer = self.layer
        if not layer.convolution:
            depth = layer.in_channels
            return passes.Shape(1, 1, 1, 1, samples, layer.groups, depth, 0, 0, depth)
        line, across = layer.line_rows * layer.per_row, layer.stride * layer.in_channels
        return passes.Shape(
            samples=samples,
            kernel=layer.kernel,
            stride=layer.stride,
            height=layer.out_height,
            width=layer.out_width,
            groups=layer.groups,
            taps=layer.kernel * layer.in_channels,
            line=line,
            down=layer.stride * line,
            across=across,
        )

    def _lines(self, words):
        """[samples, words]. The samples of a fully connected layer are the pixels of one line."""
        return words if self.layer.convolution else words.reshape(1, -1)

    def _pixels(self, words):
        """Outputs as [samples, height, width, groups, 16]; see ``_lines``."""
        layer = self.layer
        pixels = (layer.out_height, layer.out_width) if layer.convolution else (1, len(words))
        return words.reshape(-1, *pixels, layer.groups, ROW)
