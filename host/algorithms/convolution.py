"""Convolutions before a multi-layer perceptron: networks for images, in NumPy and in torch.

The network is that of kernel ``a3c`` (``hw.fa3c.config``) and of FA3C: no padding, ReLU after each
convolution.
"""

import numpy as np

from host.algorithms.layers import Activate, Convolve, Planes, Scale
from host.algorithms.network import FUNCTIONS, MLP
from hw.config import check_range
from hw.errors import UsageError

__all__ = ["CONVOLUTIONS", "ConvNet", "convolutions_for", "default_convolutions"]

#: FA3C's convolutions for Atari screens (Table 1) and the smallest image, of which they leave 3 x 3
#: pixels; MinAtar's (Young and Tian, 2019) for smaller planes, and the smallest plane
_SCREENS, _SCREEN_SIZE = ((16, 8, 4), (32, 4, 2)), 36
_PLANES, _PLANE_SIZE = ((16, 3, 1),), 3


class _Convolutions:
    """Rule of a field: a tuple of (filters, kernel, stride)."""

    def check(self, name, value):
        if not isinstance(value, tuple):
            raise UsageError(f"{name} must be a tuple, not {value!r}")
        for shape in value:
            if not isinstance(shape, tuple) or len(shape) != 3:
                raise UsageError(
                    f"{name} must be tuples (filters, kernel, stride), as a text 16:8:4,32:4:2, "
                    f"not {shape!r}"
                )
            filters, kernel, stride = shape
            check_range("filters", filters, 1, 1 << 12)
            check_range("kernel", kernel, 1, 1 << 8)
            check_range("stride", stride, 1, kernel, " (the kernel)")

    def __str__(self):
        return "filters:kernel:stride with commas between them, such as 16:8:4,32:4:2"


CONVOLUTIONS = _Convolutions()


def default_convolutions(spec):
    """The default convolutions, a tuple of (filters, kernel, stride), for the observations of a
    Spec.

    They are ((16, 8, 4), (32, 4, 2)) for images of bytes with at least 36 x 36 pixels, ((16, 3,
    1),) for smaller images with at least 3 x 3 pixels, and () for all other observations.
    """
    if spec.dtype != "uint8" or len(spec.shape) != 3:
        return ()
    smallest = min(spec.shape[:2])
    if smallest >= _SCREEN_SIZE:
        return _SCREENS
    return _PLANES if smallest >= _PLANE_SIZE else ()


def convolutions_for(config, spec):
    """The convolutions of an agent with ``config`` for the observations of a Spec."""
    return default_convolutions(spec) if config.convolutions is None else config.convolutions


class ConvNet:
    """A network of convolutions, ``h = relu(convolution(h))`` for each of ``convolutions``, and
    then an ``MLP`` on the pixels that remain. It takes all rows of a batch at once. The numbers of
    an observation are first multiplied by ``2**spec.exponent``.

    The pixels enter the MLP in torch's order, channel, y, x, even if there is no convolution.
    Observations that are not [height, width, channels] keep their order. First weights of
    convolutions are drawn as an MLP's, with the fan-in channels * kernel * kernel.

    Parameters
    ----------
    spec : Spec
        Shape of an observation, and exponent of its numbers.
    outputs : int
        Numbers of a result.
    convolutions : sequence of (filters, kernel, stride)
        Without padding. ValueError if there are any, but observations are not [height, width,
        channels], and if a kernel is larger than its input.
    hidden, activation, dueling, output_gain, rng
        As for ``MLP``.

    Attributes
    ----------
    parameters : float32 array [parameter_count]
        All weights and biases, as one vector.
    arrays : list
        Views of ``parameters``: weights [filters, channels, y, x] and biases of the convolutions,
        then those of the MLP.
    layers : list of (weight, bias)
        The arrays of each layer in torch's shapes: weights of the MLP are transposed, [outputs,
        inputs].
    """

    def __init__(
        self,
        spec,
        outputs,
        *,
        convolutions,
        hidden,
        activation="relu",
        dueling=False,
        output_gain=1.0,
        rng,
    ):
        convolutions = tuple(map(tuple, convolutions))
        CONVOLUTIONS.check("convolutions", convolutions)
        if convolutions and len(spec.shape) != 3:
            raise UsageError(
                "convolutions must be empty unless observations are [height, width, channels] "
                f"(here {list(spec.shape)}), not {convolutions!r}"
            )
        self._shape, self._scale = spec.shape, 2.0**spec.exponent
        self._strides = [stride for _, _, stride in convolutions]
        self._shapes, pixels = _shapes(spec.shape, convolutions)
        options = dict(activation=activation, dueling=dueling, output_gain=output_gain, rng=rng)
        first = [_kaiming(shape, rng) for shape in self._shapes]
        parts = [part for w in first for part in (w.ravel(), np.zeros(len(w), np.float32))]
        self._mlp = MLP(pixels, outputs, hidden, **options)
        self.move(np.concatenate([*parts, self._mlp.parameters]))

    def move(self, parameters):
        """Makes the float32 vector ``parameters`` the memory of the network's parameters, from now
        on; it is not copied, and its numbers are the new parameters."""
        self.parameters, self.arrays, at = parameters, [], 0
        for shape in self._shapes:
            end = at + int(np.prod(shape))
            self.arrays.append(parameters[at:end].reshape(shape))
            at = end + shape[0]
            self.arrays.append(parameters[end:at])
        self._mlp.move(parameters[at:])
        self.arrays += self._mlp.arrays

    @property
    def layers(self):
        count = 2 * len(self._shapes)
        weights = self.arrays[:count:2] + [weight.T for weight in self._mlp.weights]
        return list(zip(weights, self.arrays[1::2], strict=True))

    def described(self):
        """The layers of ``host.algorithms.layers``, in order."""
        found = [Scale(self._scale)] if self._scale != 1 else []
        if len(self._shape) == 3:
            found.append(Planes(self._shape))
        weights, count = self.arrays, 2 * len(self._strides)
        pairs = zip(weights[:count:2], weights[1:count:2], self._strides, strict=True)
        for weight, bias, stride in pairs:
            found += [Convolve(weight, bias, stride), Activate("relu")]
        return found + self._mlp.described()

    def forward(self, x):
        """Outputs, float32 [rows, outputs], for observations x [rows, height, width, channels] or
        [rows, numbers], bytes or float32."""
        return self.apply(x, self.arrays, FUNCTIONS)

    def apply(self, x, arrays, functions):
        """As ``forward``, with ``arrays`` instead of the network's own, of the same shapes, NumPy's
        or torch's. ``functions`` has functions for such arrays by name: those of ``MLP.apply``;
        ``scale(x, factor)``, the float32 product; and ``convolve(x, weight, bias, stride)`` for x
        [rows, channels, y, x]."""
        x, count = functions["scale"](x, self._scale), 2 * len(self._strides)
        if len(self._shape) == 3:
            # In memory channels stay the innermost: no data are moved here.
            x = x.reshape(len(x), *self._shape).swapaxes(1, 3).swapaxes(2, 3)
        for stride, weight, bias in zip(
            self._strides, arrays[:count:2], arrays[1:count:2], strict=True
        ):
            x = functions["relu"](functions["convolve"](x, weight, bias, stride))
        return self._mlp.apply(x.reshape(len(x), self._mlp.inputs), arrays[count:], functions)


def _shapes(shape, convolutions):
    """``([filters, channels, y, x] of each convolution, numbers that the last one leaves)``."""
    if len(shape) != 3:
        return [], int(np.prod(shape))
    (height, width, channels), found = shape, []
    for number, (filters, kernel, stride) in enumerate(convolutions):
        if kernel > min(height, width):
            raise UsageError(
                f"layer {number} must have an output, not a kernel larger than its input "
                f"({kernel} x {kernel} on {height} x {width})"
            )
        found.append((filters, channels, kernel, kernel))
        height, width = ((size - kernel) // stride + 1 for size in (height, width))
        channels = filters
    return found, height * width * channels


def _kaiming(shape, rng):
    """Kaiming-uniform weights with ReLU's gain, sqrt(2)."""
    bound = (6 / np.prod(shape[1:])) ** 0.5
    return rng.uniform(-bound, bound, shape).astype(np.float32)
