"""Parameters and gradients of a learner's twin: weights and moments in sets, image, step."""

import numpy as np

from hw.arith.binary32 import Binary32
from hw.learner.config import PARAMETER_SETS
from hw.learner.parameters.parameter_image import sections
from sim.model.arith import float32
from sim.model.arith.arithmetic import twin_of
from sim.model.learner.parameters.gradient_norm import limited_scale
from sim.model.nn.optimizer import coefficients, update

__all__ = ["ParameterSets"]

_MOMENTS = {"sgd": ("first",), "rmsprop": ("second",), "adam": ("first", "second")}


class ParameterSets:
    """All parameters of a learner's config, zeros at first.

    parameters : ``parameters[network][layer][set]`` is ``(weights [outputs, inputs], biases
        [outputs])``, two views through which parameters are read and written. They are float32; in
        fixed point, those of the sets "online" and "target" are int64 raw. Only sets that the
        optimizer has are there. Weights of free outputs are 0 in all sets.
    gradients : ``gradients[network][layer]`` is ``(weights, biases)``, sums over the batch that was
        trained last. They are float32, in fixed point converted from raw sums.
    """

    def __init__(self, config):
        self.config = config
        self._arithmetic = twin_of(config.arithmetic)
        plans = config.networks
        self._sets = ("online", "target", *_MOMENTS[config.optimizer])
        sizes = {
            name: sum(layer.weights + layer.outputs for layer in layers)
            for name, layers in plans.items()
        }
        # One array for a network and parameter_set: the optimizer takes all its layers at once.
        self._numbers = {
            name: {
                parameter_set: np.zeros(size, self._twin(parameter_set).dtype)
                for parameter_set in self._sets
            }
            for name, size in sizes.items()
        }
        self._updated = {name: _updated(layers) for name, layers in plans.items()}
        kind = self._arithmetic.dtype
        self._sums = {name: np.zeros(size, kind) for name, size in sizes.items()}
        self._kept = {name: _views(sums, plans[name]) for name, sums in self._sums.items()}
        self.parameters = {}
        for name, layers in plans.items():
            views = {
                parameter_set: _views(values, layers)
                for parameter_set, values in self._numbers[name].items()
            }
            self.parameters[name] = [
                {parameter_set: pairs[position] for parameter_set, pairs in views.items()}
                for position in range(len(layers))
            ]

    def _twin(self, parameter_set):
        """The arithmetic of a set's numbers; moments are binary32."""
        return self._arithmetic if parameter_set in ("online", "target") else twin_of(Binary32())

    @property
    def gradients(self):
        return {
            name: _views(self._arithmetic.sum_to_float(self._sums[name]), layers)
            for name, layers in self.config.networks.items()
        }

    # -- the parameter image

    def load(self, numbers, sets=PARAMETER_SETS):
        """Sets the parameters of ``sets`` from ``numbers``, an array of 4-byte numbers: the image
        with only these sets (``hw.learner.parameters.parameter_image``).

        Sets that the optimizer lacks are ignored, and so are weights of free outputs. In fixed
        point, bits above the weight's format are ignored too.
        """
        numbers = np.ascontiguousarray(numbers)
        for section in sections(self.config, sets):
            if section.parameter_set in self._sets:
                part = numbers.view(np.uint8)[section.offset : section.offset + section.size]
                new = self._twin(section.parameter_set).weights(part.view(np.uint32))
                pair = self.parameters[section.network][section.position][section.parameter_set]
                weights, pair[1][...] = section.layer.unpack(new)
                pair[0][...] = _weighted(section.layer, weights)

    def store(self, sets=PARAMETER_SETS):
        """The parameter image with only these ``sets``, as a uint32 array; zeros for sets that the
        optimizer lacks."""
        parts = []
        for section in sections(self.config, sets):
            if section.parameter_set in self._sets:
                pair = self.parameters[section.network][section.position][section.parameter_set]
                twin = self._twin(section.parameter_set)
                parts.append(section.layer.pack(*map(twin.words, pair)))
            else:
                parts.append(np.zeros(section.size // 4, np.uint32))
        return np.concatenate(parts)

    def begin(self):
        """The target becomes the online parameters, and all moments become 0."""
        for sets in self._numbers.values():
            sets["target"][:] = sets["online"]
            for moment in self._sets[2:]:
                sets[moment][:] = 0

    # -- a gradient step

    def weights_of(self, name, parameter_set):
        """A list of ``(weights, biases)``, views, for each layer of the network ``name``, of the
        set ``parameter_set``."""
        return [layer[parameter_set] for layer in self.parameters[name]]

    def keep(self, name, gradients):
        """Replaces the gradients of the network ``name`` by ``gradients``: ``(weights, biases)`` of
        each layer, raw sums in fixed point. Those of weights of free outputs are 0."""
        layers = self.config.networks[name]
        for own, new, layer in zip(self._kept[name], gradients, layers, strict=True):
            own[0][...], own[1][...] = _weighted(layer, new[0]), new[1]

    def step(self, name, step, rate, shift=0):
        """One optimizer step of the network ``name`` with its kept gradients, in place; returns how
        many weights were clipped. ``step`` is a record of HYPERPARAMETERS or STEP, ``rate`` the
        place of the network's numbers in the record's pairs. The errors of the gradients were
        multiplied by ``2**-shift``."""
        values, (scale, *others) = self._numbers[name], coefficients(step, rate)
        if shift:
            scale = np.float32(float32.multiply(scale, np.float32(2.0**shift)))
        numbers = scale, *others
        places = self._updated[name]
        if self.config.clip_norm:
            layers = self.config.networks[name]
            gradients, most = _views(self._sums[name], layers), np.float32(step["max_norm"][rate])
            scale = limited_scale(self.config, layers, gradients, numbers[0], most)
            numbers = scale, *others
        old = (values[kind][places] if kind in values else None for kind in PARAMETER_SETS)
        result = update(self.config, numbers, self._sums[name][places], *old)
        values["online"][places], values["target"][places] = result.weight, result.target
        for parameter_set in self._sets[2:]:
            values[parameter_set][places] = getattr(result, parameter_set)
        return result.saturations


def _weighted(layer, weights):
    """``weights`` [outputs, inputs] with zeros in the rows of free outputs."""
    if not layer.free:
        return weights
    rows = np.arange(layer.outputs)[:, None]
    return np.where(rows < layer.outputs - layer.free, weights, weights.dtype.type(0))


def _updated(layers):
    """Which numbers of a network an optimizer updates, an index: all but weights of free
    outputs."""
    if not any(layer.free for layer in layers):
        return slice(None)
    numbers = np.ones(sum(layer.weights + layer.outputs for layer in layers), bool)
    for layer, (weights, _) in zip(layers, _views(numbers, layers), strict=True):
        weights[...] = _weighted(layer, weights)
    return np.flatnonzero(numbers)


def _views(numbers, layers):
    """(weights, biases) of each layer, as views of ``numbers``, in which they follow each other."""
    views, offset = [], 0
    for layer in layers:
        weights = numbers[offset : offset + layer.weights].reshape(layer.outputs, layer.inputs)
        offset += layer.weights
        views.append((weights, numbers[offset : offset + layer.outputs]))
        offset += layer.outputs
    return views
