"""Scores of a run: its actors' returns, evaluations, the best policy, a solution."""

from collections import deque

import numpy as np

from host.environments.environment_id import reward_threshold
from host.runs.best_policy import Best

__all__ = ["Scores", "mean_of"]


def mean_of(values):
    return float(np.mean(values)) if len(values) else None


class Scores(Best):
    """Evaluates a run, and keeps its scores and its best policy.

    Parameters
    ----------
    config : RunConfig
    session : Session
        The run that is evaluated.
    records : Records
        Writes the best policy.
    progress : callable, optional
        As for ``host.agents.evaluation.evaluate``.

    Attributes
    ----------
    threshold, attempts, best
        As of Best; the threshold is the environment's own unless the config has one.
    returns, lengths : deque
        Returns and lengths of the actors' last 100 episodes.
    episodes : int
        Episodes that the actors have finished.
    evaluation : float or None
        Mean return of the last evaluation; None if a row of progress.csv has it already.
    mean_return : float or None
        Mean return of the final evaluation, or of the one that confirmed the solution, on episodes
        by which no policy was chosen; None before.
    solved : bool
        Whether a solution is confirmed or, at the end, the final evaluation reached the threshold.
    """

    _KEPT = ("episodes", "attempts", "best", "solved", "mean_return")

    def __init__(self, config, session, records, progress=None):
        own = config.threshold
        super().__init__(reward_threshold(config.env) if own is None else own, config.until_solved)
        self._session, self._records, self._progress = session, records, progress
        self.returns, self.lengths = deque(maxlen=100), deque(maxlen=100)
        self.episodes, self.mean_return, self.evaluation = 0, None, None

    def count(self, episodes):
        """Adds (return, length) of episodes that actors have finished."""
        self.episodes += len(episodes)
        for value, length in episodes:
            self.returns.append(value)
            self.lengths.append(length)

    def evaluate(self, stop):
        """Evaluates the policy that learns, greedily, and keeps it as the best one if its mean
        return is at least ``best``. With ``until_solved``, a mean return of at least ``threshold``
        is confirmed on other episodes, and then ``solved`` is True. As soon as the list ``stop`` is
        not empty, the evaluation ends without a result."""
        mean = self.judge(lambda attempt: self._evaluated(stop, attempt), self._records.keep_best)
        if mean is not None:
            self.evaluation = mean
        if self.solved:
            self.mean_return = self.confirmed

    def conclude(self, stop):
        """The final evaluation: evaluates the best policy on episodes by which no policy was
        chosen, and sets ``mean_return`` and ``solved``. Does nothing if a solution is confirmed
        already. As soon as the list ``stop`` is not empty, it ends without a result."""
        if self.best is None:
            self.evaluate(stop)
        if self.best is None or self.solved:
            return
        policy, _ = self._records.best_policy()
        self.mean_return = self._evaluated(stop, self.attempts + 1, policy)
        self.solved = self.mean_return is not None and self.passes(self.mean_return)

    def _evaluated(self, stop, attempt, policy=None):
        with self._session.phases("evaluation"):
            told = dict(stop=stop, progress=self._progress)
            returns = self._session.evaluate(attempt, policy, **told)
        return None if returns is None else float(returns.mean())

    def state_dict(self):
        kept = {name: getattr(self, name) for name in self._KEPT}
        return kept | {"returns": list(self.returns), "lengths": list(self.lengths)}

    def load_state_dict(self, state):
        for name in self._KEPT:
            setattr(self, name, state[name])
        self.returns.extend(state["returns"])
        self.lengths.extend(state["lengths"])
        if self._records.best.exists():  # kept since the checkpoint was written
            self.best = self._records.best_policy()[1]["score"]
