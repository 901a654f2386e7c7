"""The explorer against its twin, and the twin against NumPy and the host's schedule."""

import numpy as np
import pytest
from arith.float32_cases import CORNERS, floats
from later import later
from learner.play.stream_phases import GAPS, Phases

from host.algorithms.dqn import DQNConfig
from hw.errors import UsageError
from hw.learner.play.explore import Explore, ExploreConfig
from sim.model.learner.play import explore

ONE = 1 << 32


class Numbers:
    """Of SFC64, but for ``chosen`` ones; ``taken`` has all."""

    def __init__(self, seed, chosen=()):
        self.chosen, self.taken = list(chosen), []
        self._generator = np.random.SFC64(seed)

    def random_raw(self, count):
        drawn = self._generator.random_raw(count)
        for place in range(min(count, len(self.chosen))):
            drawn[place] = self.chosen.pop(0)
        self.taken += [int(number) for number in drawn]
        return drawn


def number(low, high):
    return high << 32 | low


def values_of(rng, count, actions):
    """Q values; many are equal, zeros, infinite or NaN."""
    values = rng.choice([-1.5, -0.0, 0.0, 2.25], (count, actions)).astype(np.float32)
    values += rng.normal(size=(count, 1)).astype(np.float32) * (rng.random((count, 1)) < 0.5)
    wild = floats(rng.choice(CORNERS, (count, actions)))
    return np.where(rng.random((count, actions)) < 0.15, wild, values)


def course(config, schedules, chosen=(), seed=0):
    """Phases of ``Explore`` with a step for each (first, start, decrement, end)."""
    unit, rng = Explore(config), np.random.default_rng(seed)
    phases, numbers = Phases(unit), Numbers(seed, chosen)
    twin = explore.Explore(config.environments, config.actions, numbers)
    steps, words, plans, actions, acted = [], [], [], [], []
    for first, start, decrement, end in schedules:
        steps.append(dict(first=first, start=start, decrement=decrement, end=end))
        acts = twin.step(decrement, end, start if first else None)
        values = values_of(rng, config.environments, config.actions) if acts else None
        words += [] if values is None else values.view(np.uint32).ravel().tolist()
        plans.append(dict(acts=acts))
        actions += twin.act(values).tolist()
        acted.append(bool(acts))
    phases.add(
        inputs=dict(step=steps, random=numbers.taken, i=words),
        outputs=dict(plan=plans, o=actions), final=dict(epsilon=twin.epsilon),
    )  # fmt: skip
    return phases, acted


def schedules(count, start, decrement, end):
    """A first step and others; ``start`` counts for the first only."""
    return [(k == 0, start if k == 0 else 77, decrement, end) for k in range(count)]


@pytest.mark.parametrize(
    "environments, actions",
    [(3, 3), (64, 2), later(1, 2), later(8, 2), later(5, 17), later(64, 256)],
)
def test_random_steps(simulate, tmp_path, environments, actions):
    """Most explore, then few; corners of numbers first. Clocks are as declared."""
    config = ExploreConfig(environments=environments, actions=actions)
    start, end = ONE - 1, ONE // 8
    highs = (0, ONE - 1, ONE // actions, ONE // actions + 1)
    edges = [number(low, high) for high in highs for low in (start, start - 1, 0)]
    planned = schedules(8, start, ONE // 6, end) + schedules(2, 1, 1, 0) + schedules(1, 0, 0, 0)
    phases, acted = course(config, planned, edges)
    assert True in acted
    paces = [["step", k + 1, config.step_clocks(acts)] for k, acts in enumerate(acted[:-1])]
    gaps = GAPS if environments < 64 else GAPS[-1:]
    phases.run(simulate, tmp_path, gaps=gaps, first="step", paces=paces)


def test_a_step_in_which_all_explore_takes_no_values(simulate, tmp_path):
    config = ExploreConfig(environments=2, actions=3)
    chosen = [number(4, ONE - 1), number(0, 5)] + [number(5, 0), number(4, 0)] * 2
    phases, acted = course(config, schedules(3, 5, 0, 0), chosen)
    assert acted == [False, True, True]
    paces = [["step", 1, config.step_clocks(False)], ["step", 2, config.step_clocks(True)]]
    phases.run(simulate, tmp_path, gaps=[(0.5, 0.5)], first="step", paces=paces)


def test_greedy_is_numpys_argmax():
    """Without a NaN; those are beyond infinity on their own side."""
    rng = np.random.default_rng(1)
    twin = explore.Explore(2000, 5, np.random.SFC64(0))
    values = values_of(rng, 2000, 5)
    values[np.isnan(values)] = 0
    assert twin.step(0, 0, 0)
    assert (twin.act(values) == values.argmax(axis=1)).all()
    one = explore.Explore(1, 3, np.random.SFC64(0))
    for bits, best in [((0x7F800000, 0x7F800001, 0), 1), ((0xFFC00000, 0xFF800000, 0xFF800001), 1)]:
        one.step(0, 0, 0)
        assert one.act(np.array([bits], np.uint32).view(np.float32)).tolist() == [best]


def test_shares_and_schedule_are_those_asked_for():
    """Epsilon as ``DQNConfig.epsilon_at``, to 2^-32 a step; random actions are uniform."""
    agent = DQNConfig(epsilon_start=0.9, epsilon_end=0.1, epsilon_steps=800)
    count, steps = 8, 150
    start, end = (round(share * ONE) for share in (0.9, 0.1))
    decrement = round(0.8 / (800 / count) * ONE)
    twin = explore.Explore(count, 3, np.random.SFC64(3))
    for step in range(steps):
        epsilon = start if step == 0 else twin.epsilon
        wanted = agent.epsilon_at(step * count) * ONE
        assert abs(epsilon - wanted) <= step + 1
        twin.step(decrement, end, start if step == 0 else None)
    many = explore.Explore(100_000, 3, np.random.SFC64(4))
    many.step(0, 0, ONE // 4)
    shares = np.bincount(many.act(np.zeros((100_000, 3), np.float32))) / 100_000
    np.testing.assert_allclose(shares, [0.75 + 0.25 / 3, 0.25 / 3, 0.25 / 3], atol=0.005)


@pytest.mark.parametrize(
    "field, rule",
    [(dict(environments=n), f"environments must be an integer in 1..64, not {n}") for n in (0, 65)]
    + [(dict(actions=n), f"actions must be an integer in 2..256, not {n}") for n in (1, 257)],
)
def test_sizes_are_refused(field, rule):
    with pytest.raises(UsageError, match=f"^{rule}$"):
        ExploreConfig(**field)
