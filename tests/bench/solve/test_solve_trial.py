"""bench.solve.trial: when a task is solved, and which processor time counts."""

import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from bench.solve import trial as module
from bench.solve.trial import trial
from hw.errors import Failure

RULE = {"env": "any", "threshold": 10.0, "interval": 100, "episodes": 2, "limit": 50}


class Program:
    """A training of 50 steps and 1 s an iteration, after a start of 7 s."""

    def __init__(self, clock, iterations=12):
        self._clock, self._iterations, self.warmed = clock, iterations, False

    def warm(self):
        self._clock.now += 7
        self.warmed = True

    def train(self, watch):
        watch.restart()
        for number in range(1, self._iterations + 1):
            self._clock.now += 1
            if not watch(50 * number, number, nullcontext("policy")):
                break


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def tried(means, *, limit_s=1e9, iterations=None, seconds=30.0):
    """The result of a training whose evaluations have these means, each of which takes ``seconds``,
    and the seeds of the evaluations."""
    clock, left, seeds = Clock(), iter(means), []

    def evaluate(policy, seed):
        assert policy == "policy"
        clock.now += seconds
        seeds.append(seed)
        mean = next(left)
        return np.array([mean - 1, mean + 1])

    program = Program(clock, iterations or 2 * len(means))
    found = trial(program, RULE, evaluate, limit_s=limit_s, clock=clock)
    assert program.warmed
    return found, seeds


@pytest.fixture(autouse=True)
def threads(monkeypatch):
    """The threads of this process, as ``thread_counts`` gives them; a test's own do not count."""
    found = {}
    monkeypatch.setattr(module, "thread_counts", lambda: found)
    return found


def test_two_evaluations_in_a_row_solve_and_the_first_counts():
    """A pass that the next evaluation does not confirm is luck; the threshold itself passes."""
    found, _ = tried([3, 12, 4, 10, 10, 99])
    assert (found["solved"], found["ended"]) == (True, "solved")
    assert (found["steps"], found["updates"], found["seconds"]) == (400, 8, 8.0)
    assert [point[0] for point in found["curve"]] == [100, 200, 300, 400, 500]


@pytest.mark.parametrize("means", [[3, 12, 4, 12, 4], [1, 2, 3, 4, 12], [9.9] * 5])
def test_without_two_in_a_row_it_is_not_solved_within_all_steps(means):
    found, _ = tried(means)
    assert (found["solved"], found["ended"]) == (False, "steps")
    assert (found["steps"], found["updates"], found["seconds"]) == (500, 10, 10.0)


def test_start_and_evaluations_are_no_training():
    """30 s of each evaluation and 7 s of the start are told by themselves."""
    found, _ = tried([10, 10])
    assert found["seconds"] == 2.0
    assert found["start_seconds"] == 7.0 and found["evaluation_seconds"] == 60.0


def test_a_seed_ends_at_its_limit_of_training_time_unsolved():
    """Evaluations do not count to it, either."""
    found, _ = tried([1] * 10, limit_s=4.5)
    assert (found["solved"], found["ended"], found["steps"]) == (False, "time", 250)
    assert tried([1] * 4, limit_s=8.0)[0]["ended"] == "steps"


def test_all_sides_play_the_same_episodes_and_evaluations_play_others():
    """By the step of the evaluation, whatever was evaluated before."""
    _, seeds = tried([1] * 5)
    assert len({seed + k for seed in seeds for k in range(RULE["episodes"])}) == 10
    assert tried([5] * 5)[1] == seeds


def test_nothing_is_evaluated_before_the_first_gradient_step():
    clock = Clock()

    class Waiting(Program):
        def train(self, watch):
            for steps in (100, 200, 300):
                watch(steps, 0, nullcontext("policy"))
            watch(450, 1, nullcontext("policy"))

    found = trial(Waiting(clock), RULE, lambda *_: np.array([1.0]), limit_s=1, clock=clock)
    assert [point[:2] for point in found["curve"]] == [(450, 1)]


def test_arithmetic_has_one_thread(threads):
    threads.update(openblas=1, openmp=2)
    with pytest.raises(Failure, match="^threads of openmp must be 1, not 2$"):
        tried([10, 10])


def test_threads_of_all_libraries_are_counted(monkeypatch):
    """Of torch, too, which threadpoolctl does not ask."""
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(get_num_threads=lambda: 3))
    with threadpool_limits(1):
        found = module.thread_counts()
    assert found.pop("torch") == 3 and found and {*found.values()} == {1}
