"""hw.nn.fixed_coefficients: hardware against the twin, and the twin against real numbers."""

from itertools import product

import numpy as np
import pytest
from clocks import Clocks, run_together
from nn.optimizer_cases import DUAL, FIXED, NAMES, Case, values

from hw.nn.fixed_coefficients import LARGEST_EXPONENT, FixedCoefficients, origins
from hw.nn.optimizer_config import OPTIMIZERS
from sim.model.nn.fixed_coefficients import fixed_coefficients

INFINITY = np.float32(np.inf)
#: Zeros, subnormals, ones and what rounds to them, limits of decays, more than 1, too much.
CORNERS = np.array(
    [0, 1e-40, 1.2e-38, 1, 1 - 2.0**-24, 1 - 2.0**-18, 0.5, 0.5 - 2.0**-20, 2.0**-25, 2.0**-26, 2]
    + [1e30, INFINITY, 0.9, 0.999, 0.9999],
    np.float32,
)
EACH_ARITHMETIC = pytest.mark.parametrize("arithmetic", [FIXED, DUAL], ids=lambda a: a.kind)


def cases():
    rng = np.random.default_rng(1)
    yield values()
    for corner in CORNERS:
        yield (corner,) * len(NAMES)
    for _ in range(24):
        yield tuple(rng.choice(CORNERS, len(NAMES)))
    for _ in range(12):
        yield tuple((rng.random(9) * np.exp2(rng.integers(-30, 10, 9))).astype(np.float32))


def test_hardware(simulate, tmp_path):
    each = product(OPTIMIZERS, (FIXED, DUAL))
    cases = {f"{name} {arithmetic.kind}": entered(name, arithmetic) for name, arithmetic in each}
    run_together(simulate, tmp_path, cases)


def entered(optimizer, arithmetic):
    """A case of ``run_together``."""
    case = Case(optimizer, arithmetic)
    unit = FixedCoefficients(case.config, case.sum_shape)
    clocks = Clocks()
    unread = {"sgd": ("second",), "rmsprop": ("first_loss", "first_kept"), "adam": ("none",)}
    unread = unread[optimizer]
    for c in cases():
        clock = len(clocks.inputs)
        for k in range(unit.LATENCY):
            clocks.at(clock + k, i=dict(zip(NAMES, c, strict=True)))
        expected = fixed_coefficients(case, c)._asdict()
        # What the optimizer does not read may be anything.
        read = {k: v for k, v in expected.items() if not k.startswith(unread)}
        clocks.expect(clock + unit.LATENCY, o=read)
    return clocks, unit


@EACH_ARITHMETIC
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_values(optimizer, arithmetic):
    """Within their roundings, or as the docstring has it at the limits."""
    case = Case(optimizer, arithmetic)
    added = origins(case.config, case.sum_shape)

    def number(mantissa, exponent, bits):
        return mantissa * 2.0 ** (exponent - 127 - bits + 1)

    for c in cases():
        given, got = (
            dict(zip(NAMES, map(np.float64, c), strict=True)),
            fixed_coefficients(case, c),
        )
        gains = {"rate": given["rate"], "first_gain": given["scale"]}
        if optimizer != "rmsprop":
            gains["first_gain"] *= given["first_gain"]
            decay = (1 - got.first_loss * 2.0**-24) * got.first_kept
            assert abs(decay - min(given["first_decay"], 1)) <= 2.0**-25
        if optimizer != "sgd":
            gains["second_gain"] = given["scale"] ** 2 * given["second_gain"]
            decay = (1 - got.second_loss * 2.0**-24) * got.second_kept
            expected = min(given["second_decay"], 1) if given["second_decay"] >= 0.5 else 0
            assert abs(decay - expected) <= 2.0**-25
        for name, gain in gains.items():
            if not np.isfinite(gain):
                continue
            exponent = getattr(got, f"{name.removesuffix('_gain')}_origin") - added[name]
            if name == "rate" or gain < 2.0 ** (LARGEST_EXPONENT - added[name] - 127):
                value = number(getattr(got, name), exponent, 17)
                assert abs(value - gain) <= (2.0**-17 + 2.0**-22) * gain + 2.0**-126, name
            else:
                assert exponent + added[name] == LARGEST_EXPONENT
        if np.isfinite(given["floor"]):
            value = number(got.floor, got.floor_exponent, 20)
            floor = max(given["floor"], 2.0**-126)
            assert abs(value - floor) <= 2.0**-20 * floor
        assert abs(got.blend * 2.0**-17 - min(given["blend"], 1)) <= 2.0**-18
