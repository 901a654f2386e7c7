"""Records of episodes against their twin, and the twin against sums by hand."""

import numpy as np
import pytest
from later import later
from learner.play.stream_phases import Phases

from hw.errors import UsageError
from hw.learner.play.episodes import EPISODE, LARGEST_WINDOW, Episodes, EpisodesConfig
from sim.model.learner.play import episodes

HIGH, LOW = (1 << 31) - 1, -(1 << 31)


class Course:
    """Phases of ``Episodes``, a vector step each, with the twin's records."""

    def __init__(self, environments, seed=0):
        self.config, self.rng = (
            EpisodesConfig(environments=environments),
            np.random.default_rng(seed),
        )
        self.phases, self.twin = Phases(Episodes(self.config)), episodes.Episodes(environments)

    def start(self, window):
        self.twin.start(window)
        self.phases.add(
            inputs=dict(start=[dict(window=window)]), final=dict(ended=0, total=0, met=0)
        )

    def step(self, number, ending, records, goal=0, rewards=(LOW, HIGH + 1), fraction=20, times=1):
        """A vector step; ``goal`` is above the sum of the last returns, ``times`` as much. Returns
        how many ended."""
        count = self.config.environments
        reward = self.rng.integers(*rewards, size=count)
        ends = self.rng.random((2, count)) < ending / 2
        ended = self.twin.push(number, reward, fraction, *ends, records)
        words = [dict(word=int(r), fraction=fraction, terminated=t, truncated=c)
                 for r, t, c in zip(reward, *ends, strict=True)]  # fmt: skip
        goal += times * self.twin.total
        self.phases.add(
            inputs=dict(i=words),
            outputs=dict(o=[dict(place=place, record=int.from_bytes(row.tobytes(), "little"))
                            for place, row in ended]),
            levels=dict(step=number, records=records, goal=goal),
            final=dict(ended=len(self.twin.returns), total=self.twin.total,
                       met=self.twin.met(goal),
                       bar=sum((self.twin.total >= goal // (8 >> k)) << k for k in range(4))),
        )  # fmt: skip
        return int(ends.any(axis=0).sum())


@pytest.mark.parametrize("environments, window", [(3, 2), later(1, 0), later(8, 3), later(64, 7)])
def test_random_episodes(simulate, tmp_path, environments, window):
    """Rings of all sizes; goals at the sum, below and above it; windows that fill and wrap."""
    course = Course(environments, window)
    for size in (window, 0):
        course.start(size)
        for step in range(25):
            records = [4, 1 << 16, 1, 0][step % 4]
            times = [1, 1, 1, 2, 4, 8][step % 6]
            course.step(
                step << 27 | step, [0.6, 0.1][step % 2], records, goal=step % 3 - 1, times=times
            )
        assert len(course.twin.returns) > 1 << size
    course.phases.run(simulate, tmp_path, gaps=[(0, 0), (0.5, 0.7)])


def test_the_largest_window_wraps_and_forgets(simulate, tmp_path):
    """With the most environments; episodes of one step, as many as fill it three times."""
    course = Course(64)
    course.start(7)
    for step in range(8):
        course.step(step, 2, 0, rewards=(LOW, LOW + 2))
    assert len(course.twin.returns) > 3 * LARGEST_WINDOW
    course.phases.run(simulate, tmp_path, gaps=[(0, 0)])


def test_clocks(simulate, tmp_path):
    """A start and three vector steps; some episodes end."""
    course, config = Course(5), EpisodesConfig(environments=5)
    course.start(1)
    ended = [course.step(0, 0.8, 2) for _ in range(3)]
    assert 0 < min(ended)
    whole = Phases(course.phases.unit)
    whole.phases = course.phases.phases[1:2]
    joined = whole.phases[0]
    for phase in course.phases.phases[2:]:
        joined["inputs"]["i"] += phase["inputs"]["i"]
        joined["outputs"]["o"] += phase["outputs"]["o"]
    joined["inputs"]["start"] = [1]
    joined["final"] = course.phases.phases[-1]["final"]
    paces = [["i", 0, config.start_clocks]]
    paces += [["i", 5 * k, config.step_clocks(each)] for k, each in enumerate(ended[:-1], 1)]
    whole.run(simulate, tmp_path, gaps=[(0, 0)], first="start", paces=paces)
    assert config.step_clocks(1) - config.step_clocks(0) == 6


def test_a_window_that_is_set(simulate, tmp_path):
    """As RESUME does, with one episode less than the window has, as many, and one more."""
    course = Course(2)
    for ended in (3, 4, 5):
        course.start(2)
        levels = dict(set=1, set_ended=ended, set_total=-9, goal=-9)
        final = dict(ended=ended, total=-9, met=ended >= 4)
        course.phases.add(levels=levels, final=final)
        course.phases.add(levels=dict(set=0, goal=-8), final=final | dict(met=0))
    course.phases.run(simulate, tmp_path, gaps=[(0, 0)])


@pytest.mark.long
@pytest.mark.parametrize("reward", [LOW, HIGH])
def test_the_longest_episode(simulate, tmp_path, reward):
    course = Course(1)
    course.start(0)
    for _ in range(65_534):
        course.twin.push(0, [reward], 31, [False], [False], 1)
    course.phases.phases[-1]["inputs"]["i"] = [_bits(reward, 31)] * 65_534
    course.step(0, 2, 1, rewards=(reward, reward + 1), fraction=31)
    assert course.twin.returns == [65_535 * reward]
    course.phases.run(simulate, tmp_path, gaps=[(0, 0)])


def _bits(reward, fraction):
    return reward & 0xFFFFFFFF | fraction << 32


def test_returns_by_hand():
    """Three environments, whose rewards are quarters; the sum is one of the last two returns."""
    twin = episodes.Episodes(3)
    twin.start(1)
    no = [False] * 3
    assert twin.push(0, [4, 8, 12], 2, no, no, 2) == [] and not twin.met(0)
    rows = twin.push(9, [4, -8, 1], 2, [True, False, False], [False, True, False], 2)
    assert [(place, row.tolist()) for place, row in rows] == [
        (0, (9, 0, 1, 2, 2.0, 0)),
        (1, (9, 1, 2, 2, 0.0, 0)),
    ]
    assert twin.total == 8 and twin.met(8) and not twin.met(9)
    ((place, row),) = twin.push(10, [1, 1, 1], 2, [False, False, True], [False, False, True], 2)
    assert place == 0 and row.tolist() == (10, 2, 3, 3, 3.5, 0) and twin.total == 14
    assert EPISODE.dtype.itemsize == episodes.EPISODE.itemsize == EPISODE.size == 16


@pytest.mark.parametrize("environments", [0, 65])
def test_sizes_are_refused(environments):
    rule = f"^environments must be an integer in 1..64, not {environments}$"
    with pytest.raises(UsageError, match=rule):
        EpisodesConfig(environments=environments)
