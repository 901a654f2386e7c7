"""Twin of STATISTICS against NumPy in float64, HEPPO's recurrence, and itself in parts."""

import numpy as np
import pytest
from gae.slots import fields_of, kernel_config, memory, random_kinds

from hw.gae.commands import Opcode
from hw.gae.records import MOMENTS, Error, Kind
from sim.model.gae.intake import Intake

CONFIG = kernel_config(128, rows=8)
EXPONENT = 16


def statistics(kinds, rewards, values, **fields):
    """Two records."""
    rng = np.random.default_rng(0)
    raw = memory(CONFIG, Opcode.STATISTICS, (kinds, rewards, values), rng)
    command = fields_of(
        Opcode.STATISTICS, **dict(reward_exponent=EXPONENT, value_exponent=EXPONENT) | fields
    )
    error, _, moments = Intake(CONFIG).statistics(raw, command)
    assert error == Error.NONE
    return moments.view(MOMENTS.dtype)


def rollout(slots, seed, scale):
    """Numbers that 27 bits with the exponent hold exactly."""
    rng = np.random.default_rng(seed)
    kinds = random_kinds(slots, np.zeros(CONFIG.gae.rows, bool), rng)
    numbers = rng.normal(scale, scale, (2, *kinds.shape))
    rewards, values = (np.round(numbers * 2**EXPONENT) / 2**EXPONENT).astype(np.float32)
    return kinds, rewards, values


def counted(kinds, rewards, values):
    """The numbers that count, in order, float64."""
    steps = np.isin(kinds, (Kind.STEP.value, Kind.TERMINAL.value))
    return rewards[steps].astype(float), values[kinds != Kind.NONE.value].astype(float)


@pytest.mark.parametrize("scale", [2.0**-12, 0.3, 100.0])
@pytest.mark.parametrize("slots", [1, 2, 500])
def test_numpy(slots, scale):
    """The exact sums rounded once: half a unit in the last place, and NumPy's own error."""
    planes = rollout(slots, slots, scale)
    for moments, numbers in zip(statistics(*planes), counted(*planes), strict=True):
        assert moments["count"] == len(numbers)
        assert moments["clipped"] == 0
        assert abs(moments["mean"] - numbers.mean()) <= 0.51 * np.spacing(moments["mean"])
        assert abs(moments["deviation"] - numbers.std()) <= 0.51 * np.spacing(moments["deviation"])


def welford(numbers):
    """HEPPO, equations 6 to 9, a number at a time; the deviation of the population."""
    mean = squares = 0.0
    for count, number in enumerate(numbers, start=1):
        change = number - mean
        mean += change / count
        squares += change * (number - mean)
    return mean, np.sqrt(squares / len(numbers))


def priors(moments):
    return dict(
        prior_count=int(moments["count"]),
        prior_sum=int(moments["sum"]),
        prior_squares=moments["squares"].tolist(),
    )


def test_running_rewards():
    """Commands that go on from each other: as one, and as the recurrence over all rewards."""
    planes = rollout(300, 1, 2.0)
    whole = statistics(*planes)[0]
    cuts, moments = [0, 1, 40, 41, 200, 300], None
    for begin, end in zip(cuts, cuts[1:], strict=False):
        part = [plane[begin:end] for plane in planes]
        prior = {} if moments is None else priors(moments)
        moments, values = statistics(*part, **prior)
        # Values have no prior.
        assert values["count"] == len(counted(*part)[1])
    assert moments == whole
    mean, deviation = welford(counted(*planes)[0])
    assert moments["mean"] == pytest.approx(mean, rel=2**-23)
    assert moments["deviation"] == pytest.approx(deviation, rel=2**-23)


def test_clipped_and_alike():
    """Numbers beyond 27 bits are counted; equal ones deviate by exactly 0."""
    kinds = np.full((2, CONFIG.gae.rows), Kind.TERMINAL.value, np.uint8)
    rewards, values = np.full((2, *kinds.shape), 3.0, np.float32)
    rewards[0, :3] = 1e30, -1e30, 2**10
    rewards_moments, values_moments = statistics(kinds, rewards, values)
    assert rewards_moments["clipped"] == 3
    limits = [(1 << 26) - 1, -(1 << 26), (1 << 26) - 1]
    expected = sum(limits) + 3 * (kinds.size - 3 << EXPONENT)
    assert rewards_moments["sum"] == expected
    assert (values_moments["mean"], values_moments["deviation"]) == (3.0, 0.0)
