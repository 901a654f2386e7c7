"""bench.profile: shares of a run's phases, and the estimator that stands for software's."""

import numpy as np
import pytest
from fake_estimator import FakeEstimator

from bench.profile import CLOCK, NumpyEstimator, shares

_SECONDS = {"environments": 2.0, "card": 5.0, "learning": 1.0, "evaluation": 9.0, "records": 9.0}


def test_shares_of_a_card_that_follows():
    """Its own clocks count, not the wait for a simulator; evaluations do not."""
    summary = {"phases": _SECONDS, "device_cycles": CLOCK}
    assert shares(summary) == {"environments": 50, "card": 25, "learning": 25}


def test_shares_of_a_card_beside():
    summary = {"phases": _SECONDS, "device_cycles": CLOCK}
    found = shares(summary, beside=True)
    assert found == {name: pytest.approx(100 * s / 3) for name, s in
                     {"environments": 2, "card": 1, "learning": 1}.items()}  # fmt: skip


def test_software_is_measured():
    """Where no card counts, the time that it took is its share."""
    found = shares({"phases": _SECONDS, "device_cycles": None})
    assert found == {"environments": 25, "card": 62.5, "learning": 12.5}


def test_advantages_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    shape = (40, 5)
    rewards, values, bootstraps = rng.normal(size=(3, *shape)).astype(np.float32)
    terminated = rng.random(shape) < 0.1
    truncated = ~terminated & (rng.random(shape) < 0.1)
    arrays = (rewards, values, terminated, truncated, bootstraps)
    ours, exact = (
        each.estimate(*arrays, gamma=0.97, gae_lambda=0.9)
        for each in (NumpyEstimator(), FakeEstimator())
    )
    np.testing.assert_allclose(ours.advantages, exact.advantages, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours.returns, exact.returns, rtol=1e-4, atol=1e-5)
