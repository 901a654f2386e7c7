"""What a compute unit makes of a task, by the twins of its layers, in rows as in memory."""

import numpy as np

from hw.fa3c.rows import ROW, ROW_BYTES
from sim.model.fa3c.layer import LayerTwin

__all__ = ["Reference", "rows_of"]


def rows_of(array):
    """Python integers of rows, of any array of whole rows."""
    raw = np.ascontiguousarray(array).tobytes()
    starts = range(0, len(raw), ROW_BYTES)
    return [int.from_bytes(raw[k : k + ROW_BYTES], "little") for k in starts]


class Reference:
    """Tasks on parameters ``theta``, float32 [theta_rows, 16]."""

    def __init__(self, config, theta):
        self.config = config
        self.layers = [LayerTwin(config, number) for number in range(len(config.layers))]
        self.parameters = [
            theta[base : base + layer.rows].reshape(layer.groups, -1, ROW)
            for layer, base in zip(config.layers, config.parameter_bases, strict=True)
        ]

    def infer(self, screens):
        """Of uint8 [agents, screen_bytes]: inputs of each layer, then outputs, uint8."""
        maps = [screens]
        for layer, parameters in zip(self.layers, self.parameters, strict=True):
            out = layer.forward(parameters, layer.numbers(maps[-1]))
            maps.append(out.view(np.uint8))
        return maps

    def train(self, maps, errors):
        """Rows of the gradient, in the order in which they leave: of the last layer first."""
        rows = []
        for number in reversed(range(len(self.layers))):
            layer = self.layers[number]
            inputs = layer.numbers(maps[number])
            rows += rows_of(layer.gradient(inputs, errors))
            if number:
                errors = layer.backward(self.parameters[number], errors, inputs)
        return rows
