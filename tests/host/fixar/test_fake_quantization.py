"""host.fixar.fake_quantization against Python's integers, and against float64's gradients."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from host.fixar.fake_quantization import FakeQuantizedMLP, coded, fixed
from host.fixar.precision_plan import ACTIVATION, ERROR, GRADIENT, OPERAND, shifts
from hw.arith.fixed import SQ
from hw.fixar.precision import code_limits

SIZES = (5, 7, 6, 2)
#: activations' shifts, errors'
PRECISIONS = {
    "full": (None, None),
    "half": ([3, 7, 0], [2, 11, 5]),
    "most": ([16, 16, 16], [11, 11, 11]),
    "errors full": ([12, 4, 9], None),
    "activations full": (None, [4, 0, 9]),
}


def clip(x, form):
    return min(max(x, form.low), form.high)


def shifted(x, by):
    """``floor(x 2^-by + 1/2)`` of an integer."""
    return x + (1 << by >> 1) >> by


def code(x, shift, signed):
    if shift is None:
        return x
    least, most = code_limits(signed)
    return min(max(shifted(x, shift), least), most) << shift


def by_hand(x, layers, errors, activation_shifts, error_shifts):
    """``(sums, errors at the inputs, gradients)`` of one sample after another, in integers alone.

    x : [rows][inputs] of ACTIVATION; layers : (weights [inputs][outputs], biases); errors :
    [rows][outputs] of ERROR at the last layer's sums
    """
    none = [None] * len(layers)
    activation_shifts, error_shifts = activation_shifts or none, error_shifts or none
    given, r = [], x
    for layer, (weight, bias) in enumerate(layers):
        if layer:
            r = [[max(each, 0) for each in row] for row in r]
        given.append([[code(v, activation_shifts[layer], layer == 0) for v in row] for row in r])
        r = [
            [
                clip(
                    shifted(
                        sum(a * w[o] for a, w in zip(row, weight, strict=True)) + (b << 20), 23
                    ),
                    ACTIVATION,
                )
                for o, b in enumerate(bias)
            ]
            for row in given[-1]
        ]
    gradients, e = [], errors
    for layer, (weight, _) in reversed(list(enumerate(layers))):
        e, a = [[code(v, error_shifts[layer], True) for v in row] for row in e], given[layer]
        rows = range(len(e))
        slope = [
            [
                clip(shifted(sum(a[b][i] * e[b][o] for b in rows), 8), GRADIENT)
                for o in range(len(e[0]))
            ]
            for i in range(len(weight))
        ]
        ones = [clip(sum(row[o] for row in e) << 12, GRADIENT) for o in range(len(e[0]))]
        gradients = [slope, ones, *gradients]
        e = [
            [
                clip(shifted(sum(v * w for v, w in zip(row, own, strict=True)), 23), ERROR)
                for own in weight
            ]
            for row in e
        ]
        if layer:
            e = [
                [v if z > 0 else 0 for v, z in zip(*both, strict=True)]
                for both in zip(e, a, strict=True)
            ]
    return r, e, gradients


def drawn(rng, form, shape, kind):
    """Integers of a Format: anything, near 0, or its ends and their neighbours."""
    if kind == "any":
        return rng.integers(form.low, form.high, shape, endpoint=True)
    if kind == "ends":
        ends = [form.low, form.low + 1, -1, 0, 1, form.high - 1, form.high]
        return rng.choice(ends, shape)
    return np.round(rng.normal(0, 2.0 ** (form.width - 12), shape)).astype(np.int64)


@pytest.mark.parametrize("sizes, rows", [(SIZES, 9), ((300, 3, 1), 2), ((2, 511, 3), 1)])
@pytest.mark.parametrize("kind", ["any", "ends", "near"])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_passes_are_those_of_integers(precision, kind, sizes, rows):
    rng = np.random.default_rng(len(kind) + sum(sizes))
    count = len(sizes) - 1
    taken = [None if s is None else s[:count] for s in PRECISIONS[precision]]
    x, e = (
        drawn(rng, ACTIVATION, (rows, sizes[0]), kind),
        drawn(rng, ERROR, (rows, sizes[-1]), kind),
    )
    layers = [
        (drawn(rng, OPERAND, (m, n), kind), drawn(rng, OPERAND, n, kind))
        for m, n in pairwise(sizes)
    ]
    mlp = FakeQuantizedMLP(count)
    mlp.activation_shifts, mlp.error_shifts = taken
    operands = [torch.tensor(part, dtype=torch.float64) for layer in layers for part in layer]
    y, kept = mlp.forward(torch.tensor(x, dtype=torch.float64) * 2.0**-20, operands)
    slope = torch.tensor(e, dtype=torch.float64) * 2.0**-19
    errors, gradients = mlp.backward(slope, kept, operands)
    plain = [(w.tolist(), b.tolist()) for w, b in layers]
    expected = by_hand(x.tolist(), plain, e.tolist(), *taken)
    np.testing.assert_array_equal(y.numpy() * 2**20, expected[0])
    np.testing.assert_array_equal(errors.numpy() * 2**19, expected[1])
    for own, wanted in zip(gradients, expected[2], strict=True):
        np.testing.assert_array_equal(own.numpy() * 2.0**31, wanted)
    skipped, same = mlp.backward(slope, kept, operands, inputs=False)
    assert skipped is None and all(map(torch.equal, same, gradients))
    again, nothing = mlp.backward(slope, kept, operands, weights=False)
    assert torch.equal(again, errors) and nothing is None


def test_numbers_become_integers():
    form = SQ(4, 4)
    x = torch.tensor(
        [0.0, 1 / 32, -1 / 32, 3 / 32, 7.9, 7.97, -8.0, -8.1, 100], dtype=torch.float64
    )
    assert fixed(x, form).tolist() == [0, 1, 0, 2, 126, 127, -128, -128, 127]
    raw = torch.tensor([7.0, 8, -8, -9, 2**20, -(2.0**20)], dtype=torch.float64)
    assert coded(raw, 4, signed=True).tolist() == [0, 16, 0, -16, 32767 * 16, -32768 * 16]
    assert coded(raw, 4, signed=False).tolist() == [0, 16, 0, 0, 65535 * 16, 0]
    assert coded(raw, None, signed=True) is raw


def autograd(x, arrays, slope, output_activation):
    """Of float64, straight through everything: ``(outputs, errors at the inputs, gradients)``."""
    x = x.clone().requires_grad_()
    arrays = [each.clone().requires_grad_() for each in arrays]
    y = x
    for i in range(0, len(arrays), 2):
        y = (torch.relu(y) if i else y) @ arrays[i] + arrays[i + 1]
    y = torch.tanh(y) if output_activation == "tanh" else y
    y.backward(slope)
    return y.detach(), x.grad, [each.grad for each in arrays]


def grid(rng, shape, fraction, largest):
    """Multiples of ``2^-fraction`` up to ``largest`` in magnitude."""
    most = int(largest * 2**fraction)
    return torch.tensor(rng.integers(-most, most, shape, endpoint=True) / 2.0**fraction)


@pytest.mark.parametrize("taken", [(None, None), ([12, 12, 14], [11, 8, 8])])
def test_gradients_are_autograds_where_every_is_representable(taken):
    """Integers in, small ones: no rounding rounds."""
    rng = np.random.default_rng(5)
    x, slope = grid(rng, (6, SIZES[0]), 3, 2), grid(rng, (6, SIZES[-1]), 2, 1)
    arrays = []
    for m, n in pairwise(SIZES):
        arrays += [grid(rng, (m, n), 1, 1), grid(rng, n, 1, 1)]
    mlp = FakeQuantizedMLP(3)
    mlp.activation_shifts, mlp.error_shifts = taken
    y, kept = mlp.forward(x, [fixed(each, OPERAND) for each in arrays])
    errors, gradients = mlp.backward(slope, kept, [fixed(each, OPERAND) for each in arrays])
    wanted = autograd(x, arrays, slope, "linear")
    assert torch.equal(y, wanted[0]) and torch.equal(errors, wanted[1])
    assert all(map(torch.equal, gradients, wanted[2])) and abs(wanted[1]).max() > 1


@pytest.mark.parametrize("output", ["linear", "tanh"])
@pytest.mark.parametrize("precision", ["full", "half"])
def test_gradients_are_near_autograds(precision, output):
    """Off by no more than the formats: a bound of each layer, from the one before.

    A number kept is off by ``half``, half a unit of its last place kept; a product's factors by
    what they are off by.
    """
    rng = np.random.default_rng(6)
    rows, taken = 8, (None, None)
    x, slope = (
        torch.tensor(rng.normal(size=(rows, SIZES[0]))),
        torch.tensor(rng.normal(size=(rows, SIZES[-1]))),
    )
    arrays = []
    for m, n in pairwise(SIZES):
        # Far from the knees of relu: biases lift every other sum by much more than bounds.
        arrays.append(torch.tensor(rng.normal(0, m**-0.5, (m, n))))
        arrays.append(torch.tensor(np.resize([6.0, -6.0, 6.0], n)))
    arrays[-2] /= 10  # and within those of tanh
    arrays[-1] /= 10
    mlp = FakeQuantizedMLP(3, output)
    operands = [fixed(each, OPERAND) for each in arrays]
    mlp.capture = True
    mlp.backward(slope, mlp.forward(x, operands)[1], operands)
    if precision == "half":
        found = shifts({"it": mlp.ranges})["it"]
        taken = mlp.activation_shifts, mlp.error_shifts = found["activation"], found["error"]
    y, kept = mlp.forward(x, operands)
    errors, gradients = mlp.backward(slope, kept, operands)
    exact = autograd(x, arrays, slope, output)

    units = [
        [0 if each is None else 2.0 ** (each[layer] - fraction - 1) for layer in range(3)]
        for each, fraction in zip(taken, (20, 19), strict=True)
    ]
    weights, weight_off = arrays[::2], 2.0**-24
    sizes = [abs(each).sum(0).max() for each in weights]
    given, off = [], 2.0**-21
    for layer in range(3):
        a = kept[0][layer] * 2.0**-20
        off = off + units[0][layer]
        given.append((abs(a), off))
        off = off * sizes[layer] + abs(a).sum(1).max() * weight_off + weight_off + 2.0**-21
    value = off + (2.0**-21 if output == "tanh" else 0)
    assert abs(y - exact[0]).max() <= value
    off = 2.0**-20 + (2 * value * abs(slope).max() if output == "tanh" else 0)
    e_most = abs(slope).max()
    for layer in reversed(range(3)):
        off = off + units[1][layer]
        a, a_off = given[layer]
        bound = rows * (off * (a.max() + a_off) + a_off * (e_most + off)) + 2.0**-32
        assert abs(gradients[2 * layer] - exact[2][2 * layer]).max() <= bound
        assert (
            abs(gradients[2 * layer + 1] - exact[2][2 * layer + 1]).max() <= rows * off + 2.0**-32
        )
        across = abs(weights[layer]).sum(1).max()
        outputs = weights[layer].shape[1]
        off = off * across + outputs * (e_most + off) * weight_off + 2.0**-20
        e_most = e_most * across
    assert abs(errors - exact[1]).max() <= off
    assert abs(errors).max() > (200 if precision == "full" else 1) * off, "it bounds something"


@pytest.mark.parametrize("precision", PRECISIONS)
def test_ranges_are_of_the_numbers_before_they_are_codes(precision):
    """As NumPy's minimum and maximum over several passes; none without ``capture``."""
    rng = np.random.default_rng(7)
    seen = {"activation": [[] for _ in range(3)], "error": [[] for _ in range(3)]}

    class Watched(FakeQuantizedMLP):
        def _kept(self, kind, layer, raw):
            if self.capture:
                seen[kind][layer].append(raw.numpy())
            return super()._kept(kind, layer, raw)

    mlp = Watched(3)
    mlp.activation_shifts, mlp.error_shifts = PRECISIONS[precision]
    operands = []
    for m, n in pairwise(SIZES):
        parts = (torch.tensor(rng.normal(0, 0.4, size)) for size in ((m, n), n))
        operands += [fixed(part, OPERAND) for part in parts]
    assert mlp.ranges == {"activation": [(0, 0)] * 3, "error": [(0, 0)] * 3}
    for capture in (False, True, True, False):
        mlp.capture = capture
        x, slope = (torch.tensor(rng.normal(size=(4, n))) for n in (SIZES[0], SIZES[-1]))
        mlp.backward(slope, mlp.forward(x, operands)[1], operands)
    for kind, layers in seen.items():
        for layer, arrays in enumerate(layers):
            assert len(arrays) == 2 and (np.ptp(arrays) > 0 or precision == "most")
            wanted = int(np.min(arrays)), int(np.max(arrays))
            assert mlp.ranges[kind][layer] == wanted
    first = seen["activation"][0]
    assert np.max(np.abs(first)) <= math.ceil(2**20 * 5) and np.max(np.abs(first)) > 2**20
    copy = FakeQuantizedMLP(3)
    copy.ranges = {kind: list(map(list, pairs)) for kind, pairs in mlp.ranges.items()}
    assert copy.ranges == mlp.ranges
