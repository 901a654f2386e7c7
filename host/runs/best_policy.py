"""The best policy of a run, by greedy evaluations, and whether it solves its environment."""

from collections.abc import Callable

__all__ = ["Best"]


class Best:
    """Decides which policy of a run is kept, and whether the environment is solved.

    Parameters
    ----------
    threshold : float or None
        Mean return from which on the environment counts as solved; None: it never does.
    until_solved : bool
        Whether a mean return of at least ``threshold`` is confirmed on other episodes.

    Attributes
    ----------
    attempts : int
        Confirmations so far.
    best : float or None
        Mean return of the policy that is kept: the highest so far, or that of the confirmed
        solution, even if an earlier one was higher.
    confirmed : float or None
        Mean return of the evaluation that confirmed the solution.
    solved : bool
        Whether a solution is confirmed.
    """

    def __init__(self, threshold: float | None, until_solved: bool) -> None:
        self.threshold, self._until_solved = threshold, until_solved
        self.attempts, self.solved = 0, False
        self.best: float | None = None
        self.confirmed: float | None = None

    def judge(
        self, evaluated: Callable[[int], float | None], keep: Callable[[float], object]
    ) -> float | None:
        """Judges the present policy, and returns its mean return.

        ``evaluated(attempt)`` plays greedy episodes, which are the same for equal numbers
        ``attempt``, and returns their mean return, or None if it was interrupted. ``keep(mean)`` is
        called if the policy is the best so far.
        """
        mean = evaluated(0)
        if mean is None:
            return None
        if self._until_solved and self.passes(mean):
            self.attempts += 1
            confirmed = evaluated(self.attempts)
            if confirmed is not None and self.passes(confirmed):
                self.solved, self.confirmed, self.best = True, confirmed, mean
                keep(mean)
                return mean
        if self.best is None or mean >= self.best:
            self.best = mean
            keep(mean)
        return mean

    def passes(self, mean: float) -> bool:
        """Whether ``mean`` is at least the threshold."""
        return self.threshold is not None and mean >= self.threshold
