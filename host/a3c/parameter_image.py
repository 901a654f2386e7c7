"""Numbers of kernel ``a3c`` as they lie in memory: parameters, observations, errors, outputs.

On the card a layer's weights are [y, x, input, output], with inputs and outputs padded with zeros.
For a convolution y and x are its taps; for the first fully connected layer they are the pixels of
its input; a later layer has one pixel.
"""

from typing import NamedTuple

import numpy as np

from hw.errors import UsageError
from hw.fa3c.rows import ROW, ROW_BYTES

__all__ = [
    "from_image",
    "observation_rows",
    "observation_type",
    "padded",
    "parameter_shapes",
    "to_image",
]


class _Weights(NamedTuple):
    """``shape``: torch's; ``axes``: outputs, inputs, y, x; ``held``: inputs, filled up."""

    shape: tuple
    axes: tuple
    held: int


def _weights(config):
    """The ``_Weights`` of every layer."""
    inputs, held = config.channels, config.in_channels
    rows, columns = config.height, config.width
    for layer in config.layers:
        if layer.convolution:
            shape = axes = (layer.filters, inputs, layer.kernel, layer.kernel)
            rows, columns = layer.out_height, layer.out_width
        else:
            axes = (layer.filters, inputs, rows, columns)
            shape = (layer.filters, inputs * rows * columns)
            rows = columns = 1
        yield _Weights(shape, axes, held)
        inputs, held = layer.filters, layer.out_channels


def parameter_shapes(config):
    """``{"layer0.weight": shape, "layer0.bias": shape, ...}`` of a Fa3cConfig's network, in torch's
    form.

    Weights of a convolution are [outputs, inputs, y, x], those of a fully connected layer [outputs,
    inputs], and biases [outputs]. The inputs of the first fully connected layer are the pixels of
    the layer before it, in the order channel, y, x.
    """
    shapes = {}
    for number, weights in enumerate(_weights(config)):
        shapes[f"layer{number}.weight"] = weights.shape
        shapes[f"layer{number}.bias"] = weights.shape[:1]
    return shapes


def to_image(config, parameters):
    """The parameters as they lie in memory: uint32 [theta_rows, 16], the bits of binary32.

    ``parameters`` is a dict of float arrays. ValueError unless its names and shapes are those of
    ``parameter_shapes`` and all numbers are finite.
    """
    shapes = parameter_shapes(config)
    if parameters.keys() != shapes.keys():
        raise UsageError(
            f"parameters must be {', '.join(shapes)}, not {', '.join(parameters) or 'none'}"
        )
    arrays = {name: np.asarray(array, np.float32) for name, array in parameters.items()}
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise UsageError(
                f"{name} must be of shape {list(shape)}, not {list(arrays[name].shape)}"
            )
        if not np.isfinite(arrays[name]).all():
            raise UsageError(f"{name} must be finite, not infinite or NaN")
    image = np.zeros((config.theta_rows, ROW), np.float32)
    for number, layer, weights in _layers(config):
        rows = _rows(config, image, number)
        filled = np.zeros(_filled(layer, weights), np.float32)
        outputs, inputs, _, _ = weights.axes
        own = arrays[f"layer{number}.weight"].reshape(weights.axes)
        filled[:, :, :inputs, :outputs] = own.transpose(2, 3, 1, 0)
        filled = filled.reshape(-1, layer.groups, ROW).transpose(1, 0, 2)
        rows[:, : filled.shape[1]] = filled
        bias = np.zeros(layer.out_channels, np.float32)
        bias[:outputs] = arrays[f"layer{number}.bias"]
        rows[:, layer.depth] = bias.reshape(layer.groups, ROW)
    return image.view(np.uint32)


def from_image(config, image):
    """Inverse of ``to_image``; padding is dropped."""
    image, parameters = image.view(np.float32).reshape(-1, ROW), {}
    for number, layer, weights in _layers(config):
        rows, (outputs, inputs, _, _) = _rows(config, image, number), weights.axes
        shape = _filled(layer, weights)
        filled = rows[:, : np.prod(shape[:3])].transpose(1, 0, 2).reshape(shape)
        own = filled[:, :, :inputs, :outputs].transpose(3, 2, 0, 1)
        parameters[f"layer{number}.weight"] = own.reshape(weights.shape).copy()
        parameters[f"layer{number}.bias"] = rows[:, layer.depth].reshape(-1)[:outputs].copy()
    return parameters


def _layers(config):
    return (
        (number, layer, weights)
        for number, (layer, weights) in enumerate(zip(config.layers, _weights(config), strict=True))
    )


def _filled(layer, weights):
    """Shape of the weights in memory, [y, x, inputs, outputs]."""
    return (*weights.axes[2:], weights.held, layer.out_channels)


def _rows(config, image, number):
    """[groups, group_rows, 16] of a layer, a view."""
    layer, base = config.layers[number], config.parameter_bases[number]
    return image[base : base + layer.rows].reshape(layer.groups, layer.group_rows, ROW)


def observation_type(config):
    """dtype of an observation's numbers."""
    return np.dtype(np.float32 if config.binary32 else np.uint8)


def observation_rows(config, observations):
    """Observations [n, height, width, channels], of ``observation_type``, as they lie in memory:
    uint8 [n, bytes of an observation].

    Lines and columns at the end that the first convolution does not read are left out. Channels
    and lines are padded with zeros.
    """
    layer, count = config.layers[0], len(observations)
    height, width = config.height, config.width
    if layer.convolution:
        height, width = layer.in_height, layer.in_width
    shape = (count, height, width, config.in_channels)
    pixels = np.zeros(shape, observation_type(config))
    pixels[..., : config.channels] = observations[:, :height, :width]
    lines = pixels.reshape(count, layer.in_height, -1)
    rows = np.zeros((*lines.shape[:2], layer.line_rows * layer.per_row), pixels.dtype)
    rows[:, :, : lines.shape[2]] = lines
    return rows.reshape(count, -1).view(np.uint8)


def padded(config, errors):
    """Rows of errors [n, outputs], float32 [n, words]."""
    rows = np.zeros((len(errors), config.output_bytes // ROW_BYTES * ROW), np.float32)
    rows[:, : config.outputs] = errors
    return rows
