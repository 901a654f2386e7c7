"""What is hidden behind what: rounds and environments in simulated time, with a Session's own
collector and learner."""

import threading
from collections import deque

import pytest

from host.a3c.round_learner import RoundLearner
from tests.host.a3c.test_round_learner import Executor, Rig, as_outputs
from tests.host.round_parts import *

CASES = [0.25, 0.5, 0.8, 1, 1.25, 2, 4]


class Time:
    """The host's, and the card's: a round takes ``duration`` from when it was submitted, or the
    card was free; an environment's step takes ``step``."""

    def __init__(self, step, duration):
        self.now = self.free = self.card_idle = self.host_idle = self.worked = 0.0
        self.step, self.duration, self.finished = step, duration, deque()

    def environments(self):
        self.now += self.step

    def submit(self):
        self.card_idle += max(0.0, self.now - self.free)
        self.free = max(self.now, self.free) + self.duration
        self.worked += self.duration
        self.finished.append(self.free)

    def wait(self):
        """For the oldest round."""
        end = self.finished.popleft()
        self.host_idle += max(0.0, end - self.now)
        self.now = max(self.now, end)

    def restart(self):
        """Count from now on."""
        self.card_idle = self.host_idle = 0.0
        self.begun = self.now


class TimedExecutor(Executor):
    """The host goes on while a round is under way, in its own time."""

    time = None

    def prepare(self, tasks):
        self.time.submit()
        return super().prepare(tasks)

    def run(self, tasks):
        assert threading.current_thread() is not threading.main_thread()
        return super().run(tasks)


class TimedLearner(RoundLearner):
    def end(self, launch):
        self.executor.time.wait()
        return super().end(launch)


def shares(populations, ratio):
    """``(card idle, environments idle)`` of the time, where a turn's environments take ``ratio`` of
    a round."""
    config = configured(env=NUMBERED, env_count=8 * populations, populations=populations)
    rig = Rig(config, TimedExecutor, as_outputs, TimedLearner)
    # Of a period's rounds, steps of groups: what a turn of environments takes in the mean.
    period = range(100, 100 + rig.schedule.period)
    plans = [rig.schedule.plan(number).inferences for number in period]
    steps = sum(len({i.group for i in plan if i.step is not None}) for plan in plans)
    time = Time(ratio * len(plans) / steps, 1.0)
    rig.executor.time = time
    for population in rig.collector._populations:
        for group in population._groups:
            group.actor.end = timed(group.actor.end, time)
    for number in range(40 * populations + 30 * populations * rig.schedule.period):
        if number == 40 * populations:
            time.restart()
        rig.iterate()
    rig.close()
    took = time.now - time.begun
    return time.card_idle / took, time.host_idle / took


def timed(end, time):
    def call():
        time.environments()
        return end()

    return call


@pytest.mark.parametrize("populations", [2, 3])
@pytest.mark.parametrize("ratio", CASES)
def test_two_populations_hide_the_faster_side(populations, ratio):
    """Environments behind rounds, or rounds behind environments."""
    card, environments = shares(populations, ratio)
    assert (card if ratio < 1 else environments) < 0.1
    # And the slower side is all that there is to wait for.
    other = environments if ratio < 1 else card
    assert other == pytest.approx(1 - min(ratio, 1 / ratio), abs=0.1)


@pytest.mark.parametrize("ratio", CASES)
def test_one_population_hides_nothing(ratio):
    card, environments = shares(1, ratio)
    assert card == pytest.approx(ratio / (1 + ratio), abs=0.02)
    assert environments == pytest.approx(1 / (1 + ratio), abs=0.02)
