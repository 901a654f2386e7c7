"""Networks in FIXAR's fixed point, computed in torch's float64: every number is an integer of its
format, every rounding is exact. A kernel's results are compared with these, and agents that no
kernel trains are trained by these.

``host.fixar.precision_plan`` has the formats of the integers, and explains half precision. The
results of a layer, whose operands w and b have 23 places behind the point, are clipped:

    r = clip(floor((sum_i x_i w_i + b 2^20 + 2^22) / 2^23))
    e_x = clip(floor((sum_o e_o w_o + 2^22) / 2^23))
    g = clip(floor((sum_b x_b e_b + 2^7) / 2^8))

Sums of products of 27 and 32 bits do not fit in float64, so the activation or error is split into
two halves of 16 bits. The sums of each half, of at most 512 products, are exact, and are joined by
a floor of a floor. Gradients ignore rounding and clipping: this straight-through estimator passes
errors through clipped numbers too, where the usual one stops them. Errors do not pass where relu
gave 0, also by rounding. The kernel does the same; the paper says nothing about it.

This file imports torch, so it is itself imported only where it is used.
"""

import numpy as np
import torch

from host.algorithms.autodiff import TrainingNetwork
from host.fixar.precision_plan import ACTIVATION, ERROR, GRADIENT, OPERAND, WEIGHT
from hw.fixar.config import CODE_WIDTH
from hw.fixar.precision import code_limits

__all__ = ["FakeQuantized", "FakeQuantizedMLP", "coded", "fixed"]


def fixed(x, form):
    """Real numbers as integers of a FixedFormat: rounded half up, clipped."""
    return _clipped((x * 2.0**form.fraction).add_(0.5).floor_(), form)


def _clipped(x, form):
    """Clips in place."""
    return x.clamp_(form.low, form.high)


def coded(raw, shift, *, signed, bits=CODE_WIDTH):
    """The integers ``raw``, a tensor, as half precision keeps them: codes ``raw / 2**shift`` of 16
    bits, rounded half up and clipped, times ``2**shift``. ``signed``: whether codes have a sign;
    all but their upper ``bits`` are 0. If ``shift`` is None, the integers themselves."""
    if shift is None:
        return raw
    cut = CODE_WIDTH - bits
    codes = (raw * 2.0 ** -(shift + cut)).add_(0.5).floor_().mul_(2.0**cut)
    return codes.clamp_(*code_limits(signed, bits)).mul_(2.0**shift)


def _halves(x):
    """Integers as ``(high, low)``, ``x = high 2^16 + low``, low in 0..65535."""
    high = (x * 2.0**-16).floor_()
    return high, x - high * 2.0**16


def _sums(x, w, bias, form, whole):
    """``clip(floor((x w + bias 2^20 + 2^22) / 2^23))``; ``whole``: x has more bits than a code."""
    if not whole:
        sums = x @ w if bias is None else torch.addmm(bias * 2.0**20, x, w)
        return _clipped(sums.add_(2.0**22).mul_(2.0**-23).floor_(), form)
    high, low = torch.cat(_halves(x)).mm(w).chunk(2)
    if bias is not None:
        high = high + bias * 2.0**4
    carry = low.add_(2.0**22).mul_(2.0**-16).floor_()
    return _clipped(carry.add_(high).mul_(2.0**-7).floor_(), form)


def _gradient(x, e, whole):
    """``clip(floor((x^T e + 2^7) / 2^8))``."""
    if not whole:
        return _clipped((x.T @ e).add_(2.0**7).mul_(2.0**-8).floor_(), GRADIENT)
    high, low = torch.cat(_halves(x), 1).T.mm(e).chunk(2)
    # A sum beyond 53 bits is not exact, but it is clipped.
    low = low.add_(2.0**7).mul_(2.0**-8).floor_()
    return _clipped(low.add_(high, alpha=2.0**8), GRADIENT)


class FakeQuantizedMLP:
    """Forward and backward passes of a multi-layer perceptron with relu, whose last layer is linear
    or has tanh.

    Parameters
    ----------
    layers : int
        Number of weight matrices.
    output_activation : str
        ``linear`` or ``tanh``.

    Attributes
    ----------
    activation_shifts, error_shifts : list of int, or None
        For each layer the shift of its input, and of the error at its sums; None: full precision.
    activation_bits : int
        Bits of an activation's code.
    ranges : dict
        ``{"activation": [(low, high), ...], "error": [...]}``: for each layer the lowest and the
        highest integer, before it becomes a code, in all passes with ``capture``; (0, 0) if there
        was no such pass.
    capture : bool
        Whether passes extend ``ranges``.
    """

    def __init__(self, layers, output_activation="linear"):
        self.layers, self.output_activation = layers, output_activation
        self.activation_shifts = self.error_shifts = None
        self.activation_bits = CODE_WIDTH
        self.capture = False
        self._ranges = {name: [None] * self.layers for name in ("activation", "error")}

    @property
    def ranges(self):
        return {
            name: [(0, 0) if pair is None else pair for pair in pairs]
            for name, pairs in self._ranges.items()
        }

    @ranges.setter
    def ranges(self, ranges):
        self._ranges = {name: [tuple(pair) for pair in ranges[name]] for name in self._ranges}

    def _kept(self, kind, layer, raw):
        """``raw`` as the kernel's memory holds it."""
        if self.capture:
            low, high = (int(x) for x in torch.aminmax(raw))
            before = self._ranges[kind][layer]
            if before is not None:
                low, high = min(low, before[0]), max(high, before[1])
            self._ranges[kind][layer] = low, high
        shifts, bits = self.error_shifts, CODE_WIDTH
        if kind == "activation":
            shifts, bits = self.activation_shifts, self.activation_bits
        shift = None if shifts is None else shifts[layer]
        return coded(raw, shift, signed=kind == "error" or layer == 0, bits=bits)

    def forward(self, x, operands):
        """Returns the outputs, real numbers [rows, outputs], and what ``backward`` takes as
        ``kept``.

        x : real numbers [rows, inputs]
        operands : weights [inputs, outputs] and biases of each layer in turn, integers of the
            format OPERAND
        """
        kept, r = [], fixed(x.double(), ACTIVATION)
        for layer in range(self.layers):
            if layer:
                r = r.clamp(min=0)
            kept.append(self._kept("activation", layer, r))
            weight, bias = operands[2 * layer : 2 * layer + 2]
            whole = self.activation_shifts is None
            r = _sums(kept[-1], weight, bias, ACTIVATION, whole)
        y = r * 2.0**-ACTIVATION.fraction
        if self.output_activation == "tanh":
            y = fixed(torch.tanh(y), ACTIVATION) * 2.0**-ACTIVATION.fraction
        return y, (kept, y)

    def backward(self, slope, kept, operands, *, inputs=True, weights=True):
        """Returns ``(errors, gradients)``, real numbers: the derivatives of a loss by the inputs
        [rows, inputs], or None; and a list of its derivatives by weights and biases in turn, summed
        over rows, or None.

        slope : real numbers [rows, outputs], the derivatives of the loss by the outputs
        kept : the second result of ``forward`` with the same ``operands``
        inputs, weights : bool
            Whether errors, and whether gradients, are wanted; else they are None.
        """
        kept, y = kept
        if self.output_activation == "tanh":
            slope = slope * (1 - y * y)
        raw, gradients = fixed(slope, ERROR), []
        whole = self.activation_shifts is None
        for layer in reversed(range(self.layers)):
            e, x = self._kept("error", layer, raw), kept[layer]
            if weights:
                # The bias's input is 1.
                bias = _clipped(e.sum(0) * 2.0 ** (ACTIVATION.fraction - 8), GRADIENT)
                gradients += [bias, _gradient(x, e, whole)]
            if layer or inputs:
                raw = _sums(e, operands[2 * layer].T, None, ERROR, self.error_shifts is None)
            if layer:
                raw = raw * (x > 0)
        found = [each * 2.0**-GRADIENT.fraction for each in reversed(gradients)]
        return raw * 2.0**-ERROR.fraction if inputs else None, found if weights else None


class _Pass(torch.autograd.Function):
    """A pass of a FakeQuantizedMLP for autograd, with a loss that is a mean over rows."""

    @staticmethod
    def forward(ctx, x, mlp, operands, *arrays):
        y, (ctx.kept, _) = mlp.forward(x, operands)
        ctx.save_for_backward(y)  # as an attribute it would make a circle of references
        ctx.mlp, ctx.operands, ctx.dtype = mlp, operands, x.dtype
        return y

    @staticmethod
    def backward(ctx, slope):
        rows, (inputs, *_, weights) = len(slope), ctx.needs_input_grad
        kept = ctx.kept, *ctx.saved_tensors
        wanted = dict(inputs=inputs, weights=weights)
        errors, gradients = ctx.mlp.backward(slope * rows, kept, ctx.operands, **wanted)
        errors = None if errors is None else (errors / rows).to(ctx.dtype)
        nothing = [None] * (len(ctx.needs_input_grad) - 3)
        return errors, None, None, *([each / rows for each in gradients] if weights else nothing)


class FakeQuantized(TrainingNetwork):
    """A policy's network in training, with passes in FIXAR's fixed point. The parameters are
    numbers of the weights' format, kept in float64; the policy's network has copies of them in
    binary32. Other parameters are as for TrainingNetwork.

    Parameters
    ----------
    weight : FixedFormat, optional
        Format of the stored weights.
    """

    def __init__(self, network, config, device="cpu", weight=WEIGHT):
        super().__init__(network, config, device, torch.float64)
        self.mlp = FakeQuantizedMLP(len(network.arrays) // 2, network.output_activation)
        self.weight = weight
        # For the network and its target: parameters, their integers as operands, views of operands.
        self._own, self._targets = (
            (flat, operands, self._views(operands))
            for flat in (self.parameters, self.target_parameters)
            for operands in (torch.empty_like(flat),)
        )
        self._round(self._targets)
        self.show()

    def _round(self, numbers):
        """Rounds the parameters to numbers of their format, and computes the operands."""
        parameters, operands, _ = numbers
        parameters.copy_(fixed(parameters, self.weight)).mul_(2.0**-self.weight.fraction)
        operands.copy_(fixed(parameters, OPERAND))

    def __call__(self, x, arrays=None):
        arrays = self.arrays if arrays is None else arrays
        return _Pass.apply(x, self.mlp, self._own[2], *arrays)

    def target(self, x):
        return self.mlp.forward(x, self._targets[2])[0]

    def infer(self, obs, parameters=None):
        """Outputs, a float32 array [rows, outputs], for an array of observations [rows, size],
        without gradients. ``parameters``, a float32 vector, are used instead of the network's
        own."""
        operands = self._own[2]
        if parameters is not None:
            own = torch.from_numpy(parameters).to(self.parameters)
            stored = fixed(own, self.weight) * 2.0**-self.weight.fraction
            operands = self._views(fixed(stored, OPERAND))
        seen = torch.as_tensor(np.asarray(obs, np.float64), device=self.parameters.device)
        capture, self.mlp.capture = self.mlp.capture, False
        outputs = self.mlp.forward(seen, operands)[0]
        self.mlp.capture = capture
        return outputs.float().cpu().numpy()

    def show(self):
        self._round(self._own)
        super().show()

    def synchronize(self, tau):
        super().synchronize(tau)
        self._round(self._targets)

    def state_dict(self):
        return super().state_dict() | {"parameters": self.parameters.cpu().numpy().copy()}

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self.parameters.copy_(torch.from_numpy(np.array(state["parameters"])))
        self._round(self._targets)
        self.show()
