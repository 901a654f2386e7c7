"""Multi-layer perceptron with hand-written gradients, in NumPy: the CPU learner's network.

Written for small batches, where the calls cost more than the arithmetic: parameters and gradients
are one flat vector each (an optimizer step is a dozen calls, whatever the depth), and all
intermediate arrays are kept per batch size.
"""

import numpy as np

__all__ = ["ACTIVATIONS", "MLP"]


def _relu(z):
    np.maximum(z, 0, out=z)


def _relu_backward(delta, h):
    np.multiply(delta, h > 0, out=delta)


def _tanh(z):
    np.tanh(z, out=z)


def _tanh_backward(delta, h):
    np.multiply(delta, 1 - h * h, out=delta)


#: name: (in-place function, in-place product of a gradient with the derivative at output h, gain)
ACTIVATIONS = {
    "relu": (_relu, _relu_backward, 2**0.5),
    "tanh": (_tanh, _tanh_backward, 5 / 3),
}


class _Workspace:
    """Intermediate arrays of one batch size: layer outputs, and gradients by those outputs."""

    def __init__(self, rows, widths, outputs, dtype):
        self.hidden = [np.empty((rows, width), dtype) for width in widths]
        self.delta = [np.empty((rows, width), dtype) for width in widths]
        self.output = np.empty((rows, outputs), dtype)
        self.head_delta = np.empty((rows, outputs), dtype)
        self.value = np.empty((rows, 1), dtype)
        self.ones = np.ones(rows, dtype)
        self.x = None


class MLP:
    """``h_0 = x;  h_i = f(h_{i-1} W_i + b_i);  q = g(h_n W + b)``, all rows of a batch at once.

    With ``dueling`` the last hidden layer exists twice, as a value and an advantage stream:
    ``q = v + a - mean_actions(a)``, ``v = h_v W_v + b_v``, ``a = h_a W_a + b_a`` (Wang et al.,
    Dueling Network Architectures, 2016, eq. 9).

    Weights start Kaiming-uniform, ``U(-g sqrt(3 / fan_in), g sqrt(3 / fan_in))`` with g the
    activation's gain (``output_gain`` for the output), biases at 0.

    Parameters
    ----------
    inputs, outputs : int
    hidden : sequence of int
        Width of each hidden layer; may be empty without ``dueling``.
    activation : str
        ``relu`` or ``tanh``.
    dueling : bool
    output_activation : str
        ``linear``, or one of the hidden layers' (not with ``dueling``).
    output_gain : float
    rng : numpy.random.Generator
    dtype
        float32; float64 serves to check gradients.

    Attributes
    ----------
    parameters, gradient : array [parameter_count]
        Flat; ``weights[i]`` ([fan_in, fan_out]) and ``biases[i]`` are views, output layers last
        (dueling: value, then advantage).
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
        output_gain=1.0,
        rng,
        dtype=np.float32,
    ):
        for name, value, choices in (
            ("activation", activation, tuple(ACTIVATIONS)),
            ("output_activation", output_activation, ("linear", *ACTIVATIONS)),
        ):
            if value not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
        if dueling and not hidden:
            raise ValueError(f"hidden must have a layer when dueling, not {hidden!r}")
        if dueling and output_activation != "linear":
            raise ValueError(
                f"output_activation must be linear when dueling, not {output_activation!r}"
            )
        self.inputs, self.outputs = inputs, outputs
        self.activation, self.dueling = activation, dueling
        self.dtype = np.dtype(dtype)
        self._activate, self._backward, gain = ACTIVATIONS[activation]
        self._output = None if output_activation == "linear" else ACTIVATIONS[output_activation]
        # A dueling pair of hidden layers is one product of twice the width.
        self._widths = [*hidden[:-1], 2 * hidden[-1]] if dueling else list(hidden)
        shapes = (
            list(zip([inputs, *self._widths[:-1]], self._widths, strict=True)) if hidden else []
        )
        if dueling:
            shapes += [(hidden[-1], 1), (hidden[-1], outputs)]
        else:
            shapes.append((self._widths[-1] if hidden else inputs, outputs))
        count = sum(fan_in * fan_out + fan_out for fan_in, fan_out in shapes)
        self.parameters = np.zeros(count, self.dtype)
        self.gradient = np.zeros(count, self.dtype)
        self.weights, self.biases = self._views(self.parameters, shapes)
        self._weight_gradients, self._bias_gradients = self._views(self.gradient, shapes)
        for i, weight in enumerate(self.weights):
            bound = (gain if i < len(hidden) else output_gain) * (3 / weight.shape[0]) ** 0.5
            weight[...] = rng.uniform(-bound, bound, weight.shape)
        self._workspaces, self._last = {}, None

    @staticmethod
    def _views(flat, shapes):
        weights, biases, at = [], [], 0
        for fan_in, fan_out in shapes:
            weights.append(flat[at : at + fan_in * fan_out].reshape(fan_in, fan_out))
            at += fan_in * fan_out
            biases.append(flat[at : at + fan_out])
            at += fan_out
        return weights, biases

    def _workspace(self, rows):
        if rows not in self._workspaces:
            if len(self._workspaces) >= 16:  # callers use a few batch sizes; never keep many
                self._workspaces.clear()
            self._workspaces[rows] = _Workspace(rows, self._widths, self.outputs, self.dtype)
        return self._workspaces[rows]

    def forward(self, x):
        """Return q [rows, outputs] of x [rows, inputs]; valid until the next forward of as many
        rows."""
        workspace = self._last = self._workspace(len(x))
        workspace.x = x
        h = x
        for z, weight, bias in zip(workspace.hidden, self.weights, self.biases, strict=False):
            np.matmul(h, weight, out=z)
            z += bias
            self._activate(z)
            h = z
        q = workspace.output
        if self.dueling:
            half = h.shape[1] // 2
            np.matmul(h[:, :half], self.weights[-2], out=workspace.value)
            np.matmul(h[:, half:], self.weights[-1], out=q)
            q += self.biases[-1]
            workspace.value += self.biases[-2]
            workspace.value -= q.mean(axis=1, keepdims=True)
            q += workspace.value
        else:
            np.matmul(h, self.weights[-1], out=q)
            q += self.biases[-1]
            if self._output is not None:
                self._output[0](q)
        return q

    def backward(self, dq):
        """Fill ``gradient`` with dL/dparameters for dq = dL/dq [rows, outputs] of the last
        ``forward``."""
        for i, h, delta in self._deltas(dq):
            np.matmul(h.T, delta, out=self._weight_gradients[i])
            np.matmul(self._last.ones, delta, out=self._bias_gradients[i])

    def input_gradient(self, dq):
        """dL/dx [rows, inputs] for dq of the last ``forward``; ``gradient`` stays as it is."""
        if self.dueling:
            raise ValueError("dueling must be False for the gradient by the inputs, not True")
        *_, (_, _, delta) = self._deltas(dq)
        return delta @ self.weights[0].T

    def _deltas(self, dq):
        """``(layer, its inputs, dL/d(its sums))`` of every layer, last to first."""
        workspace, depth = self._last, len(self._widths)
        h = workspace.hidden[-1] if depth else workspace.x
        if self.dueling:
            half, delta = h.shape[1] // 2, workspace.delta[-1]
            dv, da = workspace.value, workspace.head_delta
            np.sum(dq, axis=1, keepdims=True, out=dv)
            np.subtract(dq, dv / self.outputs, out=da)
            yield -2, h[:, :half], dv
            yield -1, h[:, half:], da
            np.matmul(dv, self.weights[-2].T, out=delta[:, :half])
            np.matmul(da, self.weights[-1].T, out=delta[:, half:])
        else:
            if self._output is not None:
                workspace.head_delta[...] = dq
                dq = workspace.head_delta
                self._output[1](dq, workspace.output)
            yield -1, h, dq
            if depth:
                np.matmul(dq, self.weights[-1].T, out=workspace.delta[-1])
        for i in reversed(range(depth)):
            delta = workspace.delta[i]
            self._backward(delta, workspace.hidden[i])
            yield i, workspace.hidden[i - 1] if i else workspace.x, delta
            if i:
                np.matmul(delta, self.weights[i].T, out=workspace.delta[i - 1])
