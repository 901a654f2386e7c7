"""hw.nn.activation: twin against NumPy's float64, hardware against the twin, DSP blocks."""

from itertools import product

import numpy as np
import pytest
from arith.float32_cases import CORNERS, bits, corners, floats, random_operands
from arith.free_running import FreeRunning, check_together, dsp_blocks
from nn.exact_activation import EXACT

from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.arith.fixed_point import DualPrecision
from hw.nn import estimate
from hw.nn.activation import ACTIVATIONS
from sim.model.arith.arithmetic import twin_of
from sim.model.nn import activation as twin

FLOAT, FIXED = Arithmetic(), Arithmetic(kind="fixed")
# 1 - x**2 has more fraction bits than a DSP block takes; and none at all.
FINE = Arithmetic(kind="fixed", activation=SQ(1, 17), gradient=SQ(1, 17))
WHOLE = Arithmetic(kind="fixed", activation=SQ(8, 0), gradient=SQ(3, 3))
#: Wide formats; and those of 16 bits, fewer fraction bits than its tanh has.
DUAL = DualPrecision()
NARROW = DualPrecision(activation=SQ(6, 10), gradient=SQ(4, 12))
ALL = {"float32": FLOAT, "fixed": FIXED, "fine": FINE, "whole": WHOLE}
ALL |= {"dual": DUAL, "narrow dual": NARROW}
CASES = list(product(ALL, ACTIVATIONS))


@pytest.fixture(autouse=True)
def rows():
    """An activation that only hardware has is named, with the file that lacks it."""
    check_rows()


def check_rows():
    for table, file in (
        (twin.ACTIVATIONS, "sim/model/nn/activation.py"),
        (EXACT, "tests/nn/exact_activation.py"),
    ):
        missing = sorted(ACTIVATIONS.keys() - table.keys())
        assert not missing, f"{file} must have a class and a row of its table for {missing}"


def test_a_twin_that_lacks_says_where_it_goes(monkeypatch):
    monkeypatch.delitem(twin.ACTIVATIONS, "tanh")
    with pytest.raises(AssertionError, match=r"^sim/model/nn/activation.py must have .*'tanh'"):
        check_rows()


def numbers(arithmetic, kind, rng, rows):
    """Numbers of a kind, limits first, as the twin takes them."""
    if arithmetic is FLOAT:
        x = np.concatenate([CORNERS, random_operands(1, rows, seed=int(rng.integers(99)))[0]])
        x = floats(x)
        return np.where(np.isnan(x), floats([0x7FC00000]), x)
    format = getattr(arithmetic, kind)
    ends = [format.low, format.low + 1, -1, 0, 1, format.high]
    return np.array([*ends, *rng.integers(format.low, format.high + 1, rows)], dtype=np.int64)


def ports(arithmetic, values):
    return values if arithmetic.saturates else bits(values)


def test_activate(simulate, tmp_path):
    check_together(simulate, tmp_path, {" ".join(case): activated(*case) for case in CASES})


def activated(name, activation):
    """A case of ``check_together``."""
    arithmetic = ALL[name]
    shape = arithmetic.shape("activation")
    y = numbers(arithmetic, "activation", np.random.default_rng(1), 300)
    unit = ACTIVATIONS[activation]

    def build(m, inputs):
        return dict(result=unit.apply(m, arithmetic, inputs["y"], name="active"))

    return (
        FreeRunning(dict(y=shape), dict(result=shape), build),
        dict(y=ports(arithmetic, y)),
        dict(result=ports(arithmetic, twin.activate(arithmetic, activation, y))),
        dict(result=unit.latency(arithmetic)),
    )


def test_derivative(simulate, tmp_path):
    check_together(simulate, tmp_path, {" ".join(case): derived(*case) for case in CASES})


def derived(name, activation):
    """A case of ``check_together``."""
    arithmetic = ALL[name]
    x_shape, dx_shape = arithmetic.shape("activation"), arithmetic.shape("gradient")
    rng = np.random.default_rng(2)
    dx = numbers(arithmetic, "gradient", rng, 300)
    x = rng.permutation(numbers(arithmetic, "activation", rng, len(dx)))[: len(dx)]
    if arithmetic is FLOAT:
        pairs = [part[::11] for part in corners(2)]
        some = [np.where(np.isnan(part), floats([0x7FC00000]), part) for part in map(floats, pairs)]
        dx, x = np.concatenate([dx, some[0]]), np.concatenate([x, some[1]])
    if activation == "tanh":  # a result of tanh
        x = twin.activate(arithmetic, "tanh", x)
    if (name, activation) == ("fine", "tanh"):  # where it matters that 1 - x**2 is cut
        raw = rng.integers(-(1 << 17), 1 << 17, (2, 100_000))
        exact = (raw[0] * ((1 << 34) - raw[1] ** 2) + (1 << 33)) >> 34
        cut = np.flatnonzero(twin.derivative(arithmetic, "tanh", *raw) != exact)[:50]
        assert len(cut) == 50
        dx, x = np.concatenate([dx, raw[0, cut]]), np.concatenate([x, raw[1, cut]])
    unit = ACTIVATIONS[activation]

    def build(m, inputs):
        dx, x = inputs["dx"], inputs["x"]
        return dict(result=unit.derive(m, arithmetic, dx, x, name="active"))

    return (
        FreeRunning(dict(dx=dx_shape, x=x_shape), dict(result=dx_shape), build),
        dict(dx=ports(arithmetic, dx), x=ports(arithmetic, x)),
        dict(result=ports(arithmetic, twin.derivative(arithmetic, activation, dx, x))),
        dict(result=unit.derivative_latency(arithmetic)),
    )


def test_latencies():
    assert ACTIVATIONS.keys() == twin.ACTIVATIONS.keys() == EXACT.keys()
    for name, activation in ACTIVATIONS.items():
        for k, arithmetic in enumerate((FLOAT, FIXED, DUAL)):
            assert activation.latency(arithmetic) == EXACT[name].latency[k]
            assert activation.derivative_latency(arithmetic) == EXACT[name].derivative_latency[k]


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_twin_of_stated_cases(activation):
    def array(kind, values):
        return floats(values) if kind == "float32" else np.array(values)

    exact = EXACT[activation]
    for kind, (y, expected) in exact.applied.items():
        arithmetic = Arithmetic(kind=kind)
        got = twin.activate(arithmetic, activation, array(kind, y))
        assert ports(arithmetic, got).tolist() == expected
    for kind, (dx, x, expected) in exact.derived_from.items():
        arithmetic = Arithmetic(kind=kind)
        got = twin.derivative(arithmetic, activation, array(kind, dx), array(kind, x))
        assert ports(arithmetic, got).tolist() == expected


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_twin_derivative_is_the_slope(activation):
    rng = np.random.default_rng(4)
    y, dx = rng.normal(scale=2, size=500), rng.normal(size=500)
    expected = dx * EXACT[activation].slope(y)
    wide = y.astype(np.float32)
    active = twin.activate(FLOAT, activation, wide)
    got = twin.derivative(FLOAT, activation, dx.astype(np.float32), active)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=2e-6)
    raw, _ = twin_of(FIXED).quantize(wide, "activation")
    error, _ = twin_of(FIXED).quantize(dx.astype(np.float32), "gradient")
    got = twin.derivative(FIXED, activation, error, twin.activate(FIXED, activation, raw))
    # Half a unit of x goes twice into its square, half a unit of dx comes and goes.
    away = np.abs(y) > 2.0**-11 if EXACT[activation].bent else slice(None)
    bound = np.abs(dx) * 2.0**-10 + 2.0**-14
    assert np.all((np.abs(got * 2.0**-14 - expected) <= bound)[away])


@pytest.mark.parametrize("arithmetic, dsp", [(FLOAT, 8), (FIXED, 5), (DUAL, 5)])
def test_estimated_dsp_blocks(arithmetic, dsp):
    """Those of ``test_dsp_blocks``: of tanh and its derivative together."""
    units = estimate.activation("tanh", arithmetic), estimate.derivative("tanh", arithmetic)
    assert sum(each.dsp for each in units) == dsp


@pytest.mark.long
def test_dsp_blocks():
    """As the docstrings say: tanh 4 and 3, its derivative 4 and one a product."""
    cases = {"float": (FLOAT, 8), "fixed": (FIXED, 5), "dual": (DUAL, 5)}
    inputs, outputs, expected = {}, {}, 0
    for name, (arithmetic, dsp) in cases.items():
        inputs[f"{name}_x"] = outputs[f"{name}_y"] = arithmetic.shape("activation")
        inputs[f"{name}_dx"] = outputs[f"{name}_back"] = arithmetic.shape("gradient")
        expected += dsp

    def build(m, ports):
        tanh, results = ACTIVATIONS["tanh"], {}
        for name, (arithmetic, _) in cases.items():
            x, dx = ports[f"{name}_x"], ports[f"{name}_dx"]
            results[f"{name}_y"] = tanh.apply(m, arithmetic, x, name=f"{name}_tanh")
            results[f"{name}_back"] = tanh.derive(m, arithmetic, dx, x, name=name)
        return results

    assert dsp_blocks(FreeRunning(inputs, outputs, build)) == expected
