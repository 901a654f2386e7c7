"""Parameters of a learner: arrays by network, layer and set, to and from the image in memory."""

import numpy as np

from hw.arith.binary32 import Binary32
from hw.errors import UsageError
from hw.learner.config import PARAMETER_SETS
from hw.learner.parameters.parameter_image import sections

__all__ = ["from_image", "set_bits", "to_image", "zero_moments"]

#: Sets of weights: numbers of the learner's arithmetic.
_WEIGHTS = ("online", "target")


def set_bits(sets):
    """The field ``sets`` of LOAD and STORE."""
    for parameter_set in sets:
        if parameter_set not in PARAMETER_SETS:
            raise UsageError(f"sets must be of {', '.join(PARAMETER_SETS)}, not {parameter_set!r}")
    if not sets:
        raise UsageError("sets must be one or more, not none")
    return sum(1 << PARAMETER_SETS.index(parameter_set) for parameter_set in set(sets))


def zero_moments(parameters):
    """All sets of parameters, ``{network: [{set: (weights, biases)}, ...]}``, from ``{network:
    [(weights, biases), ...]}``: the sets of weights, online and target, are equal, and the
    optimizer's moments are 0."""
    return {network: [_fresh(*pair) for pair in layers] for network, layers in parameters.items()}


def _fresh(weights, biases):
    moments = np.zeros_like(weights, np.float32), np.zeros_like(biases, np.float32)
    return {
        parameter_set: (weights, biases) if parameter_set in _WEIGHTS else moments
        for parameter_set in PARAMETER_SETS
    }


def to_image(learner, parameters):
    """``(image, sets, clipped)``: the parameters as they lie in memory, uint32 numbers; the names
    of their sets; how many weights were clipped to the learner's format.

    ``parameters``: ``{network: [{set: (weights, biases)}, ...]}``. ValueError for other names or
    shapes, for a number that is not finite, and for a weight of a free output that is not 0.
    """
    sets = _checked(learner, parameters)
    parts, clipped = [], 0
    for section in sections(learner, sets):
        arrays = parameters[section.network][section.position][section.parameter_set]
        words, counts = zip(*map(_arithmetic(learner, section).weight_words, arrays), strict=True)
        clipped += sum(counts)
        parts.append(section.layer.pack(*words))
    return np.concatenate(parts), sets, clipped


def from_image(learner, image, sets):
    """Inverse of ``to_image``: from the bytes of an image (uint8) and the names of its sets,
    returns ``{network: [{set: (weights, biases)}, ...]}`` of float32 arrays."""
    result = {name: [{} for _ in layers] for name, layers in learner.networks.items()}
    for section in sections(learner, sets):
        raw = image[section.offset : section.offset + section.size]
        weights_of = _arithmetic(learner, section).weights_of
        arrays = section.layer.unpack(raw.view(np.uint32))
        arrays = tuple(map(weights_of, arrays))
        result[section.network][section.position][section.parameter_set] = arrays
    return result


def _arithmetic(learner, section):
    """Of the numbers of a section: moments are binary32."""
    return learner.arithmetic if section.parameter_set in _WEIGHTS else Binary32()


def _checked(learner, parameters):
    """The sets of ``parameters``; ValueError unless they are the learner's."""
    networks = learner.networks
    if set(parameters) != set(networks):
        raise UsageError(
            f"parameters must be of {', '.join(networks)}, not {', '.join(parameters) or 'none'}"
        )
    sets = None
    for network, layers in networks.items():
        given = parameters[network]
        if len(given) != len(layers):
            raise UsageError(f"{network} must have {len(layers)} layers, not {len(given)}")
        for position, (layer, numbers) in enumerate(zip(layers, given, strict=True)):
            where = f"{network}[{position}]"
            sets = set(numbers) if sets is None else sets
            set_bits(numbers)
            if set(numbers) != sets:
                raise UsageError(
                    f"{where} must have the sets {', '.join(sorted(sets))} as the first layer, "
                    f"not {', '.join(sorted(numbers))}"
                )
            for parameter_set, arrays in numbers.items():
                _check_pair(f"{where}.{parameter_set}", layer, arrays)
    return tuple(parameter_set for parameter_set in PARAMETER_SETS if parameter_set in sets)


def _check_pair(where, layer, arrays):
    shapes = ((layer.outputs, layer.inputs), (layer.outputs,))
    found = tuple(np.shape(x) for x in arrays)
    if found != shapes:
        raise UsageError(f"{where} must have shapes {shapes} (weights, biases), not {found}")
    for array in arrays:
        if not np.isfinite(np.asarray(array, np.float32)).all():
            raise UsageError(f"{where} must be finite, not infinite or NaN")
    if layer.free and np.any(arrays[0][-layer.free :]):
        raise UsageError(
            f"{where} must have weights of 0 for its last {layer.free} outputs, which are only "
            "biases, not others"
        )
