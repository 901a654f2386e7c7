"""Evaluates the policy of a training loop of one's own, as a run of ``rlfabric train`` does."""

from os import PathLike

from host.agents.evaluation import Copies, check_limit, evaluate
from host.agents.policy_file import check_policy, save_policy
from host.algorithms.algorithm import Algorithm
from host.algorithms.config import Clock
from host.algorithms.policy import InferredPolicy, Policy
from host.runs.best_policy import Best
from host.runs.run_config import RunConfig
from host.runs.session import Seeds
from hw.config import check_range

__all__ = ["Judge"]


class Judge(Best):
    """Evaluates a policy now and then on greedy episodes, and writes the best one to a file, as a
    run does: with the same episodes, and with the same confirmation if it has a ``threshold``.

    Parameters
    ----------
    path : path
        File for the best policy, for ``rlfabric.load_policy``.
    algorithm : Algorithm
    env : str
        gymnasium's id, or MODULE:ID.
    seeds : Seeds
    every : int
        Environment steps from one evaluation to the next.
    episodes, limit : int
        Episodes of an evaluation, and steps after which one is broken off.
    threshold : float, optional
        Mean return at which the environment is solved; None: it never is.

    Attributes
    ----------
    best, solved
        As of Best.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        algorithm: Algorithm,
        env: str,
        *,
        seeds: Seeds,
        every: int,
        episodes: int = RunConfig.evaluation_episodes,
        limit: int | None = None,
        threshold: float | None = None,
    ) -> None:
        super().__init__(threshold, threshold is not None)
        check_range("every", every, 1, 1 << 40)
        check_range("episodes", episodes, 1, 1 << 12)
        self._path, self._algorithm, self._env = path, algorithm, env
        self._seeds, self._every, self._limit = seeds, every, check_limit(limit)
        self._copies, self._checked = Copies(env, episodes, algorithm), False

    def due(self, clock: Clock) -> bool:
        """Whether an evaluation follows this iteration, which began when ``clock.launched`` steps
        were taken: if it has passed a multiple of ``every`` and something is learned, and at the
        end of ``clock.total`` steps."""
        passed = clock.steps // self._every > clock.launched // self._every
        return bool(passed and clock.updates) or clock.steps >= clock.total

    def __call__(self, policy: Policy, acting: Policy | InferredPolicy | None = None) -> float:
        """Evaluates ``policy``, writes it to the file if it is the best so far, and returns the
        mean return. ``acting`` acts in its place, if its outputs are computed elsewhere. The first
        file is read back: UsageError if its policy does not act as ``policy``."""

        def evaluated(attempt: int) -> float:
            told = dict(seed=self._seeds.evaluation(attempt), limit=self._limit)
            return float(evaluate(acting or policy, self._copies, **told).mean())

        def keep(mean: float) -> None:
            save_policy(self._path, policy, algo=self._algorithm.name, env=self._env, score=mean)
            if not self._checked and self._copies.first is not None:
                check_policy(self._path, policy, self._copies.first)
                self._checked = True

        mean = self.judge(evaluated, keep)
        assert mean is not None  # nothing interrupts it
        return mean

    def close(self) -> None:
        """Closes the environments of the evaluations."""
        self._copies.close()
