"""One seed of one side: trains until the task is solved, and counts the processor time of training.

A program has ``train(watch)``, which calls ``watch(steps, updates, act)`` whenever it could be
evaluated, after each gradient step or rollout, and ends when this is False. ``steps`` and
``updates`` are environment steps and gradient steps so far; ``act`` is a context manager of a
policy whose ``act(obs, greedy=True)`` gives actions in [-1, 1], or discrete ones. ``warm()`` runs
the same code on a short run that is thrown away.
"""

import sys
import time

from threadpoolctl import threadpool_info

from bench.learning.job import JUDGING_SEED
from hw.errors import Failure

__all__ = ["Watch", "thread_counts", "trial"]


class Watch:
    """Evaluates a training now and then, and decides whether it has solved its task.

    Parameters
    ----------
    rule : dict
        ``Task.rule``.
    evaluate : callable
        ``evaluate(policy, seed)`` returns the returns of ``rule["episodes"]`` episodes.
    limit_s : float
        Processor seconds of training after which it ends unsolved.
    clock : callable
        Processor seconds of this process.

    Attributes
    ----------
    curve : list of (int, int, float, float)
        Environment steps, gradient steps, seconds of training and mean return of each evaluation.
    start, seconds : float
        Processor seconds of the process before training, and of training so far without
        evaluations.
    evaluating : float
        Those of the evaluations.
    ended : str or None
        "solved" or "time"; None as long as the training goes on.
    """

    def __init__(self, rule, evaluate, *, limit_s, clock=time.process_time):
        self._rule, self._evaluate, self._clock = rule, evaluate, clock
        self._limit_s, self._at = limit_s, 0
        self.start = self._since = clock()
        self.curve, self.seconds, self.evaluating, self.ended = [], 0.0, 0.0, None
        self.steps = self.updates = 0

    def restart(self):
        """Training begins now: the time before counts as start."""
        self.start = self._since = self._clock()

    def __call__(self, steps, updates, act):
        """Whether training goes on; it is evaluated if a multiple of the interval was passed."""
        self._count()
        self.steps, self.updates = steps, updates
        number = steps // self._rule["interval"]
        if number > self._at and updates and not self.ended:
            self._at = number
            # The same episodes for all sides at the same step, and others at the next evaluation.
            seed = JUDGING_SEED + number * self._rule["episodes"]
            with act as policy:
                returns = self._evaluate(policy, seed)
            self.curve.append((steps, updates, round(self.seconds, 4), float(returns.mean())))
            if self.solved is not None:
                self.ended = "solved"
        if not self.ended and self.seconds > self._limit_s:
            self.ended = "time"
        now = self._clock()
        self.evaluating += now - self._since
        self._since = now
        return self.ended is None

    def _count(self):
        now = self._clock()
        self.seconds += now - self._since
        self._since = now

    @property
    def solved(self):
        """The point of ``curve`` that solved the task: the first of two consecutive passes; None
        without two."""
        passed = [point[3] >= self._rule["threshold"] for point in self.curve]
        for point, here, following in zip(self.curve, passed, passed[1:], strict=False):
            if here and following:
                return point
        return None


def trial(program, rule, evaluate, *, limit_s, clock=time.process_time):
    """Trains ``program`` and returns the result, a dict: ``solved``; ``steps``, ``updates`` and
    ``seconds`` when it was solved, or of the whole training if it was not; ``ended``, one of
    "solved", "steps" (all were taken) and "time"; ``start_seconds``, ``evaluation_seconds`` and
    ``curve``."""
    program.warm()
    _check_threads()
    watch = Watch(rule, evaluate, limit_s=limit_s, clock=clock)
    program.train(watch)
    solved = watch.solved
    steps, updates, seconds = (watch.steps, watch.updates, round(watch.seconds, 4))
    if solved is not None:
        steps, updates, seconds, _ = solved
    return {
        "solved": solved is not None,
        "steps": steps,
        "updates": updates,
        "seconds": seconds,
        "ended": watch.ended or "steps",
        "start_seconds": round(watch.start, 4),
        "evaluation_seconds": round(watch.evaluating, 4),
        "curve": watch.curve,
    }


def thread_counts():
    """``{name: threads}`` of the libraries of arithmetic that this process has loaded."""
    found = {each["internal_api"]: each["num_threads"] for each in threadpool_info()}
    if "torch" in sys.modules:
        found["torch"] = sys.modules["torch"].get_num_threads()
    return found


def _check_threads():
    """Failure if a library has more than one thread: what it does is not of one core then."""
    for name, count in thread_counts().items():
        if count != 1:
            raise Failure(f"threads of {name} must be 1, not {count}")
