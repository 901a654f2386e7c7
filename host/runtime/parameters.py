"""Parameters of a learner: arrays by network, layer and kind, to and from the image in memory."""

import numpy as np

from hw.learner.config import KINDS
from hw.learner.parameters.parameter_image import pack, sections, unpack

__all__ = ["from_image", "kind_bits", "to_image", "zero_moments"]

#: Kinds that are weights: fixed-point numbers where the learner's are.
_WEIGHTS = ("online", "target")


def kind_bits(kinds):
    """The field ``kinds`` of LOAD and STORE."""
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f"kinds must be of {', '.join(KINDS)}, not {kind!r}")
    if not kinds:
        raise ValueError("kinds must be one or more, not none")
    return sum(1 << KINDS.index(kind) for kind in set(kinds))


def zero_moments(parameters):
    """All kinds from ``{network: [(weights, biases), ...]}``: the target equals the network, the
    moments are 0."""
    return {network: [_fresh(*pair) for pair in layers] for network, layers in parameters.items()}


def _fresh(weights, biases):
    moments = np.zeros_like(weights, np.float32), np.zeros_like(biases, np.float32)
    return {kind: (weights, biases) if kind in _WEIGHTS else moments for kind in KINDS}


def to_image(learner, parameters):
    """``(image, kinds, clipped)``: uint32 numbers, what they are of, weights that were clipped.

    ``parameters``: ``{network: [{kind: (weights, biases)}, ...]}``.
    """
    kinds = _checked(learner, parameters)
    parts, clipped = [], 0
    for section in sections(learner, kinds):
        arrays = parameters[section.network][section.position][section.kind]
        if _is_raw(learner, section.kind):
            pairs = [learner.arithmetic.weight.quantize(x) for x in arrays]
            clipped += sum(int(saturated.sum()) for _, saturated in pairs)
            arrays = [raw.astype(np.int32) for raw, _ in pairs]
        else:
            arrays = [np.asarray(x, np.float32) for x in arrays]
        parts.append(pack(section.layer, *arrays).view(np.uint32))
    return np.concatenate(parts), kinds, clipped


def from_image(learner, image, kinds):
    """Inverse of ``to_image``, of uint8: float32 arrays."""
    result = {name: [{} for _ in layers] for name, layers in learner.networks.items()}
    for section in sections(learner, kinds):
        raw = image[section.offset : section.offset + section.size]
        if _is_raw(learner, section.kind):
            arrays = unpack(section.layer, raw.view(np.int32))
            arrays = [learner.arithmetic.weight.to_float(x).astype(np.float32) for x in arrays]
        else:
            arrays = unpack(section.layer, raw.view(np.float32))
        result[section.network][section.position][section.kind] = tuple(arrays)
    return result


def _is_raw(learner, kind):
    return kind in _WEIGHTS and not learner.arithmetic.is_float


def _checked(learner, parameters):
    """The kinds of ``parameters``; ValueError unless they are the learner's."""
    networks = learner.networks
    if set(parameters) != set(networks):
        raise ValueError(
            f"parameters must be of {', '.join(networks)}, not {', '.join(parameters) or 'none'}"
        )
    kinds = None
    for network, layers in networks.items():
        given = parameters[network]
        if len(given) != len(layers):
            raise ValueError(f"{network} must have {len(layers)} layers, not {len(given)}")
        for position, (layer, numbers) in enumerate(zip(layers, given, strict=True)):
            where = f"{network}[{position}]"
            kinds = set(numbers) if kinds is None else kinds
            kind_bits(numbers)
            if set(numbers) != kinds:
                raise ValueError(
                    f"{where} must have the kinds {', '.join(sorted(kinds))} as the first layer, "
                    f"not {', '.join(sorted(numbers))}"
                )
            for kind, arrays in numbers.items():
                _check_pair(f"{where}.{kind}", layer, arrays)
    return tuple(kind for kind in KINDS if kind in kinds)


def _check_pair(where, layer, arrays):
    shapes = ((layer.outputs, layer.inputs), (layer.outputs,))
    found = tuple(np.shape(x) for x in arrays)
    if found != shapes:
        raise ValueError(f"{where} must have shapes {shapes} (weights, biases), not {found}")
    for array in arrays:
        if not np.isfinite(np.asarray(array, np.float32)).all():
            raise ValueError(f"{where} must be finite, not infinite or NaN")
