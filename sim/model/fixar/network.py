"""Bit-exact reference for a network on FIXAR's array: forward, errors back, weight gradients.

    forward   y = relu(round(W x + b)),  quantized for the next layer
    backward  dx = [x > 0] round(W^T e), quantized;  G = sum over the batch of e x^T, Gb = of e

Arrays are [features, batch]: integers in float64 (``sim.model.fixar.numbers``).
"""

import numpy as np

from hw.fixar.numbers.ranges import NOTHING
from hw.fixar.precision import Precision, activation_slot, error_slot, slots
from sim.model.fixar.numbers import encode, finish, gradients, operands, value_of
from sim.model.fixar.tanh import slope, tail

__all__ = ["FixarNetwork", "Watch", "beside"]


class Watch:
    """Lowest and highest number of each layer since ``clear``; counts of clipped numbers, which
    ``clear`` leaves.

    activations, errors : int64 [slots, 2]; if no number was seen, the low is above the high.
    saturations : [weights, activations, gradients], how many were clipped so far.
    """

    def __init__(self, config):
        self.activations, self.errors = (np.empty((count, 2), np.int64) for count in slots(config))
        self.saturations = [0, 0, 0]
        self.clear()

    def clear(self):
        self.activations[:] = self.errors[:] = NOTHING

    def see(self, kind, slot, low, high):
        """``kind``: "activations" or "errors"."""
        row = getattr(self, kind)[slot]
        row[:] = min(row[0], int(low)), max(row[1], int(high))


class FixarNetwork:
    """The layers of ``config.networks[name]``; ``precision`` may change between passes.

    Weights are given as operands of the array: ``prepare``.
    """

    def __init__(self, config, name, watch):
        self.config, self.name, self.watch = config, name, watch
        self.layers = config.networks[name]
        self.precision = Precision()

    def prepare(self, pairs):
        """Operands of ``pairs`` of raw weights [outputs, inputs] and biases [outputs]."""
        arithmetic = self.config.arithmetic
        return [tuple(operands(arithmetic, part) for part in pair) for pair in pairs]

    # -- cells

    def frame_cells(self, values, watched=True):
        """Cells of numbers of the frame; clipped ones are counted if ``watched``."""
        cells, saturations = encode(values, *self._activation_target(0, signed=True))
        if watched:
            self.watch.saturations[1] += saturations
        return cells

    def action_cells(self, outputs):
        """Cells of an actor's actions: the tanh of its outputs."""
        arithmetic = self.config.arithmetic
        numbers = tail(arithmetic, outputs) << arithmetic.tanh_cut
        return self.frame_cells(numbers.astype(np.float64))

    def through_tanh(self, dx, actions):
        """Errors at an actor's outputs: those at its ``actions``, cells, times the slope there."""
        arithmetic = self.config.arithmetic
        a = value_of(actions).astype(np.int64) >> arithmetic.tanh_cut
        return slope(arithmetic, dx.astype(np.int64), a).astype(np.float64)

    def error_cells(self, values, position):
        """Cells of errors at the outputs of layer ``position``; those clipped are counted."""
        cells, saturations = encode(values, *self._error_target(position))
        self.watch.saturations[2] += saturations
        return cells

    def see_errors(self, values, position):
        """Counts errors at the outputs of layer ``position`` for its range."""
        slot = error_slot(self.config, self.name, position)
        self.watch.see("errors", slot, values.min(), values.max())

    def _activation_target(self, position, signed=False):
        slot = activation_slot(self.config, self.name, position)
        shifts = self.precision.activation_shifts
        return self.precision.activations, shifts[slot] if shifts else 0, signed

    def _error_target(self, position):
        shifts = self.precision.error_shifts
        slot = error_slot(self.config, self.name, position)
        return self.precision.errors, shifts[slot] if shifts else 0, True

    # -- passes

    def forward(self, prepared, cells, watched=True):
        """``(cells of every layer's input, numbers of the last layer's outputs)``."""
        inputs, number = [cells], self.config.arithmetic.activation
        for position, (weights, biases) in enumerate(prepared):
            last = position == len(prepared) - 1
            finished = finish(
                weights @ inputs[-1].words,
                biases * 2.0**number.fraction,
                inputs[-1],
                self._drop,
                (float(number.low), float(number.high)),
                relu=not last,
                target=None if last else self._activation_target(position + 1),
            )
            if watched:
                self.watch.saturations[1] += finished.saturations
            if watched and not last:
                slot = activation_slot(self.config, self.name, position + 1)
                self.watch.see("activations", slot, finished.low, finished.high)
            inputs.append(finished.cells)
        return inputs[:-1], finished.values

    def backward(self, prepared, inputs, errors, *, trained=True, input_gradient=0):
        """``(gradients of every layer, dx)``. The gradients are None if they are not needed. dx:
        errors of the first ``input_gradient`` inputs of the first layer, as numbers, not codes; or
        None.

        inputs : of ``forward``; errors : cells at the last layer's outputs.
        """
        kept, dx = [None] * len(self.layers), None
        for position in reversed(range(len(self.layers))):
            if trained:
                kept[position] = self._gradients(errors, inputs[position])
            weights = prepared[position][0]
            if position:
                mask = value_of(inputs[position])
                dx = self._input_gradient(weights, errors, mask, self._error_target(position - 1))
                self.see_errors(dx.values, position - 1)
                self.watch.saturations[2] += dx.saturations
                errors = dx.cells
            elif input_gradient:
                dx = self._input_gradient(weights[:, :input_gradient], errors, None, None)
                self.watch.saturations[2] += dx.saturations
        return kept if trained else None, dx.values if input_gradient else None

    @property
    def _drop(self):
        return self.config.arithmetic.operand.fraction

    def _input_gradient(self, weights, errors, mask, target):
        number = self.config.arithmetic.gradient
        limits = float(number.low), float(number.high)
        sums = weights.T @ errors.words
        return finish(sums, None, errors, self._drop, limits, mask=mask, target=target)

    def _gradients(self, errors, cells):
        """Raw ``(weights, biases)`` as the optimizer takes them; clipped ones are counted."""
        arithmetic = self.config.arithmetic
        drop = arithmetic.GRADIENT_CUT
        width = arithmetic.gradient_sum_shape(self.config.batch).width
        limits = -(1 << (width - 1)), (1 << (width - 1)) - 1
        e, batch = errors.words if errors.half else value_of(errors), cells.words.shape[1]
        shift = cells.shift + errors.shift
        if cells.half:
            weights = gradients(e @ cells.words.T, shift, drop, limits)
        else:
            upper, lower = cells.words[:, : batch // 2], cells.words[:, batch // 2 :]
            weights = gradients(e @ upper.T, shift, drop, limits, e @ lower.T)
        one = arithmetic.activation.fraction
        biases = gradients(e.sum(axis=1), one + errors.shift, drop, limits)
        self.watch.saturations[2] += weights[1] + biases[1]
        return weights[0], biases[0]


def beside(observations, actions):
    """Cells of a frame in the order of the parameters: observation, then action."""
    words = np.concatenate([observations.words, actions.words])
    return observations._replace(words=words)
