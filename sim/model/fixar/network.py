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
    """The range of numbers of each layer since ``clear``, and how many numbers were clipped.

    activations, errors : int64 [slots, 2], lowest and highest number of each slot of
        ``hw.fixar.precision``. If no number was seen, the lowest is above the highest.
    saturations : [weights, activations, gradients], how many were clipped so far. ``clear`` does
        not change this list.
    """

    def __init__(self, config):
        self.activations, self.errors = (np.empty((count, 2), np.int64) for count in slots(config))
        self.saturations = [0, 0, 0]
        self.clear()

    def clear(self):
        self.activations[:] = self.errors[:] = NOTHING

    def see(self, kind, slot, low, high):
        """Widens the range of a slot so that it includes ``low`` and ``high``. ``kind`` is
        "activations" or "errors"."""
        row = getattr(self, kind)[slot]
        row[:] = min(row[0], int(low)), max(row[1], int(high))


class FixarNetwork:
    """The passes of the network ``config.networks[name]`` on FIXAR's array. It has no parameters of
    its own: each pass is given them as ``prepare`` returns them.

    config : FixarConfig
    watch : Watch, to which ranges and clipped numbers are added
    precision : attribute, the Precision of activations and errors; it may be set between passes
    """

    def __init__(self, config, name, watch):
        self.config, self.name, self.watch = config, name, watch
        self.layers = config.networks[name]
        self.precision = Precision()

    def prepare(self, pairs):
        """A list of ``(weights, biases)`` of each layer as operands of the array, rounded, from
        ``pairs`` of raw weights [outputs, inputs] and raw biases [outputs]."""
        arithmetic = self.config.arithmetic
        return [tuple(operands(arithmetic, part) for part in pair) for pair in pairs]

    # -- cells

    def frame_cells(self, values, watched=True):
        """``Cells`` of ``values`` [features, batch], numbers of observations or actions, in the
        precision of the network's inputs. If ``watched``, those that are clipped are counted."""
        cells, saturations = encode(values, *self._activation_target(0, signed=True))
        if watched:
            self.watch.saturations[1] += saturations
        return cells

    def action_cells(self, outputs):
        """``Cells`` of an actor's actions, which are the tanh of ``outputs``, the numbers of its
        last layer; as inputs of the critic."""
        arithmetic = self.config.arithmetic
        numbers = tail(arithmetic, outputs) << arithmetic.tanh_cut
        return self.frame_cells(numbers.astype(np.float64))

    def through_tanh(self, dx, actions):
        """Errors at an actor's outputs before the tanh: the errors ``dx`` at its actions, numbers,
        times the slope of the tanh. ``actions`` are the Cells of the actions."""
        arithmetic = self.config.arithmetic
        a = value_of(actions).astype(np.int64) >> arithmetic.tanh_cut
        return slope(arithmetic, dx.astype(np.int64), a).astype(np.float64)

    def error_cells(self, values, position):
        """``Cells`` of ``values``, errors at the outputs of layer number ``position``. Those that
        are clipped are counted."""
        cells, saturations = encode(values, *self._error_target(position))
        self.watch.saturations[2] += saturations
        return cells

    def see_errors(self, values, position):
        """Widens the range of errors at the outputs of layer number ``position`` so that it
        includes all of ``values``."""
        slot = error_slot(self.config, self.name, position)
        self.watch.see("errors", slot, values.min(), values.max())

    def _activation_target(self, position, signed=False):
        slot = activation_slot(self.config, self.name, position)
        shifts = self.precision.activation_shifts
        shift = shifts[slot] if shifts else 0
        return self.precision.activations, shift, signed, self.precision.activation_bits

    def _error_target(self, position):
        shifts = self.precision.error_shifts
        slot = error_slot(self.config, self.name, position)
        return self.precision.errors, shifts[slot] if shifts else 0, True

    # -- passes

    def forward(self, prepared, cells, watched=True):
        """Forward pass of a batch; returns ``(inputs, outputs)``.

        prepared : the parameters, of ``prepare``.
        cells : Cells of the first layer's inputs.
        watched : ranges and clipped numbers are added to ``watch``.
        inputs : a list of the Cells of every layer's inputs.
        outputs : the last layer's outputs, numbers [outputs, batch] before any activation.
        """
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
        """Backward pass of a batch; returns ``(gradients, dx)``.

        prepared : the parameters, of ``prepare``.
        inputs : as ``forward`` returned them.
        errors : Cells of the errors at the last layer's outputs.
        gradients : raw ``(weights, biases)`` of every layer, sums over the batch; None if not
            ``trained``.
        dx : errors of the first ``input_gradient`` inputs of the first layer, as numbers; None if
            ``input_gradient`` is 0.
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
    """``Cells`` of the critic's inputs: those of the observations, then those of the actions, as
    rows of one array. Both must have the same precision and shift."""
    words = np.concatenate([observations.words, actions.words])
    return observations._replace(words=words)
