"""A multi-layer perceptron in NumPy, with which a policy acts on a host with or without torch.

Parameters are one flat vector, and all weights and biases are views of it: copies of a network for
the card or for torch are made in one piece.
"""

import numpy as np

from host.algorithms.activation import ACTIVATIONS
from host.algorithms.layers import Activate, Dense, Dueling
from hw.errors import UsageError

__all__ = ["FUNCTIONS", "MLP"]


def _convolve(x, weight, bias, stride):
    """The convolution [rows, filters, y, x] of x [rows, channels, y, x]. It is fastest if channels
    are the innermost in memory, as they are in its result."""
    size = weight.shape[2]
    windows = np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride].transpose(0, 2, 3, 4, 5, 1)
    taps = weight.transpose(2, 3, 1, 0).reshape(-1, len(weight))
    pixels = windows.reshape(-1, len(taps)) @ taps + bias
    return pixels.reshape(*windows.shape[:3], len(weight)).transpose(0, 3, 1, 2)


#: Functions for ``apply`` of a network, by name, in NumPy; ``autodiff`` has torch's.
FUNCTIONS = {
    "affine": lambda bias, x, weight: x @ weight + bias,
    "convolve": _convolve,
    "scale": lambda x, factor: np.asarray(x, np.float32) * np.float32(factor),
    **{name: activation.function for name, activation in ACTIVATIONS.items()},
}


class MLP:
    """A multi-layer perceptron: ``h_0 = x;  h_i = f(h_{i-1} W_i + b_i);  q = g(h_n W + b)``, all
    rows of a batch at once. f is ``activation``, g ``output_activation``, n the number of hidden
    layers.

    With ``dueling`` the last hidden layer exists twice, as a value and an advantage stream:
    ``q = v + a - mean_actions(a)``, ``v = h_v W_v + b_v``, ``a = h_a W_a + b_a`` (Wang et al.,
    Dueling Network Architectures, 2016, eq. 9).

    Weights start Kaiming-uniform, ``U(-g sqrt(3 / fan_in), g sqrt(3 / fan_in))``, with g the
    activation's gain or ``gain`` if it is given. With ``orthogonal`` they start orthogonal with
    gain sqrt(2) (Saxe et al., 2014). Output layers have the gain ``output_gain`` in both cases.
    Biases start at 0.

    Parameters
    ----------
    inputs, outputs : int
        Numbers of a row of x; of a row of q.
    hidden : sequence of int
        Width of each hidden layer; may be empty without ``dueling``.
    activation : str
        One of ``ACTIVATIONS``.
    dueling : bool
        Whether there are two streams.
    output_activation : str
        ``linear`` or one of ``ACTIVATIONS``; with ``dueling`` only ``linear``.
    gain : float, optional
        Gain of the hidden layers' first weights, unless ``orthogonal``.
    output_gain : float
        Gain of the output layers' first weights.
    orthogonal : bool
        Whether first weights are orthogonal; if not, they are Kaiming-uniform.
    rng : numpy.random.Generator
        Draws the first weights.

    Attributes
    ----------
    parameters : float32 array [parameter_count]
        All weights and biases, as one vector.
    arrays : list
        Views of ``parameters``: weights [fan_in, fan_out] and biases [fan_out] in turn, output
        layers last (dueling: value, then advantage).
    """

    def __init__(
        self,
        inputs,
        outputs,
        hidden,
        *,
        activation="relu",
        dueling=False,
        output_activation="linear",
        gain=None,
        output_gain=1.0,
        orthogonal=False,
        rng,
    ):
        for name, value, choices in (
            ("activation", activation, tuple(ACTIVATIONS)),
            ("output_activation", output_activation, ("linear", *ACTIVATIONS)),
        ):
            if value not in choices:
                raise UsageError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
        if dueling and not hidden:
            raise UsageError(f"hidden must have a layer when dueling, not {hidden!r}")
        if dueling and output_activation != "linear":
            raise UsageError(
                f"output_activation must be linear when dueling, not {output_activation!r}"
            )
        self.inputs, self.outputs, self.dueling = inputs, outputs, dueling
        self.activation, self.output_activation = activation, output_activation
        # A dueling pair of hidden layers is one product of twice the width.
        widths = [*hidden[:-1], 2 * hidden[-1]] if dueling else list(hidden)
        shapes = list(zip([inputs, *widths[:-1]], widths, strict=True)) if hidden else []
        last = widths[-1] if hidden else inputs
        shapes += [(hidden[-1], 1), (hidden[-1], outputs)] if dueling else [(last, outputs)]
        self._shapes = shapes
        self.move(np.zeros(sum((fan_in + 1) * out for fan_in, out in shapes), np.float32))
        hidden_gain = ACTIVATIONS[activation].gain if gain is None else gain
        for i, weight in enumerate(self.weights):
            gain = hidden_gain if i < len(hidden) else output_gain
            if orthogonal:
                gain = 2**0.5 if i < len(hidden) else output_gain
                weight[...] = gain * _orthogonal(rng, weight.shape)
            else:
                bound = gain * (3 / weight.shape[0]) ** 0.5
                weight[...] = rng.uniform(-bound, bound, weight.shape)

    def move(self, parameters):
        """Makes the float32 vector ``parameters`` the memory of the network's parameters, from now
        on; it is not copied, and its numbers are the new parameters."""
        self.parameters, self.arrays, at = parameters, [], 0
        for fan_in, fan_out in self._shapes:
            end = at + fan_in * fan_out
            self.arrays.append(parameters[at:end].reshape(fan_in, fan_out))
            at = end + fan_out
            self.arrays.append(parameters[end:at])

    @property
    def weights(self):
        return self.arrays[::2]

    @property
    def biases(self):
        return self.arrays[1::2]

    def described(self):
        """The layers of ``host.algorithms.layers``, in order."""
        pairs = [Dense(w.T, b) for w, b in zip(self.weights, self.biases, strict=True)]
        last = len(pairs) - 2 if self.dueling else len(pairs) - 1
        found = [each for pair in pairs[:last] for each in (pair, Activate(self.activation))]
        if self.dueling:
            return [*found, Dueling(*pairs[last:])]
        end = [] if self.output_activation == "linear" else [Activate(self.output_activation)]
        return [*found, pairs[last], *end]

    def forward(self, x):
        """q [rows, outputs] for x [rows, inputs]."""
        return self.apply(x, self.arrays, FUNCTIONS)

    def apply(self, x, arrays, functions):
        """As ``forward``, with ``arrays`` instead of the network's own, of the same shapes, NumPy's
        or torch's. ``functions`` has functions for such arrays by name: the activations, and
        ``affine(bias, x, weight)``, which is ``x @ weight + bias``."""
        affine, function = functions["affine"], functions[self.activation]
        last = len(arrays) - (4 if self.dueling else 2)
        for i in range(0, last, 2):
            x = function(affine(arrays[i + 1], x, arrays[i]))
        weight, bias = arrays[-2:]
        if self.dueling:
            half, (value_weight, value_bias) = x.shape[1] // 2, arrays[last : last + 2]
            advantage = affine(bias, x[:, half:], weight)
            value = affine(value_bias, x[:, :half], value_weight)
            return advantage + (value - advantage.mean(axis=1, keepdims=True))
        output = affine(bias, x, weight)
        if self.output_activation == "linear":
            return output
        return functions[self.output_activation](output)


def _orthogonal(rng, shape):
    """A random matrix with orthonormal rows or columns, whichever are fewer."""
    tall = rng.normal(size=(max(shape), min(shape)))
    basis, triangle = np.linalg.qr(tall)
    basis *= np.sign(np.diag(triangle))
    return basis if shape[0] >= shape[1] else basis.T
