"""FIXAR's passes in Python's integers, a number after the other."""

import numpy as np

from host.fixar.precision_plan import ACTIVATION, ERROR, GRADIENT
from hw.fixar.precision import activation_slot, error_slot
from tests.host.fixar.test_fake_quantization import clip, code, shifted

__all__ = ["NaiveNetwork", "Ranges"]


class Ranges:
    """``pairs``: (kind, slot) -> lowest and highest number of all rows that were seen."""

    def __init__(self):
        self.pairs = {}

    def see(self, kind, slot, rows):
        numbers = [int(number) for row in rows for number in row]
        numbers += self.pairs.get((kind, slot), ())
        self.pairs[kind, slot] = min(numbers), max(numbers)

    def of(self, kind, count):
        return [list(self.pairs[kind, slot]) for slot in range(count)]


def _sum(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


class NaiveNetwork:
    """A network of ``config``; rows are lists of integers.

    Weights: of each layer ``(weights [outputs][inputs], biases)``, integers of 23 places.
    """

    def __init__(self, config, name, precision, ranges):
        self.config, self.name = config, name
        self.precision, self.ranges = precision, ranges
        self.layers = range(len(config.networks[name]))

    def _activations(self, layer, rows):
        """What the cells before ``layer`` stand for."""
        p, slot = self.precision, activation_slot(self.config, self.name, layer)
        shift = p.activation_shifts[slot] if p.activations else None
        return [[code(v, shift, layer == 0) for v in row] for row in rows]

    def _errors(self, layer, rows):
        p, slot = self.precision, error_slot(self.config, self.name, layer)
        self.ranges.see("errors", slot, rows)
        shift = p.error_shifts[slot] if p.errors else None
        return [[code(v, shift, True) for v in row] for row in rows]

    def forward(self, weights, rows):
        """``(what each layer reads, outputs)``."""
        read = []
        for layer, (w, b) in zip(self.layers, weights, strict=True):
            read.append(self._activations(layer, rows))
            rows = [
                [
                    clip(shifted(_sum(own, row) + (bias << 20), 23), ACTIVATION)
                    for own, bias in zip(w, b, strict=True)
                ]
                for row in read[-1]
            ]
            if layer != self.layers[-1]:
                rows = [[max(v, 0) for v in row] for row in rows]
                slot = activation_slot(self.config, self.name, layer + 1)
                self.ranges.see("activations", slot, rows)
        return read, rows

    def backward(self, weights, read, rows):
        """``(errors at the inputs, gradients)``, these as lists of weights [outputs][inputs] and
        biases in turn; ``rows``: errors at the outputs."""
        gradients = []
        for layer in reversed(self.layers):
            errors, x = self._errors(layer, rows), read[layer]
            columns = list(zip(*errors, strict=True))
            features = list(zip(*x, strict=True))
            own = [[clip(shifted(_sum(e, f), 8), GRADIENT) for f in features] for e in columns]
            ones = [clip(shifted(sum(e) << 20, 8), GRADIENT) for e in columns]
            gradients = [own, ones, *gradients]
            turned = list(zip(*weights[layer][0], strict=True))
            rows = [[clip(shifted(_sum(w, e), 23), ERROR) for w in turned] for e in errors]
            if layer:
                rows = (np.array(rows) * (np.array(x) > 0)).tolist()
        return rows, gradients
