"""Trained policies: read, asked for actions, evaluated."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from host.agents import evaluation, policy_file
from host.agents.registry import find
from host.environments.spec import Spec
from host.modules import check_trusted
from host.runs.run_folder import policy_of
from hw.config import check_range
from hw.errors import UsageError

__all__ = ["Evaluation", "Policy", "evaluate", "load_policy"]

#: What a policy needs to have in common with an environment.
_SAME = ("shape", "dtype", "discrete", "action_count")


class _Acts(Protocol):
    spec: Spec

    def act(
        self, obs: NDArray[np.generic], *, greedy: bool = False, steps: int = 0
    ) -> NDArray[np.generic]: ...


#: Environment steps after which every schedule of exploration has ended.
_TRAINED = 1 << 62


class Policy:
    """A trained policy, as ``load_policy`` or ``Run.policy`` returns it.

    Attributes
    ----------
    algorithm, env : str
        The algorithm that trained the policy, and the environment in which it was trained.
    score : float or None
        Mean return in the evaluation for which the policy was kept; None if there was none.
    """

    def __init__(self, acting: _Acts, algorithm: str, env: str, score: float | None) -> None:
        self._acting, self.algorithm, self.env, self.score = acting, algorithm, env, score

    def __repr__(self) -> str:
        named = f"algorithm={self.algorithm!r}, env={self.env!r}, score={self.score}"
        return f"{type(self).__name__}({named})"

    def predict(
        self,
        observation: ArrayLike | Mapping[str, object] | tuple[object, ...],
        state: None = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.generic], None]:
        """Returns ``(actions, None)``, as ``predict`` of stable-baselines3; None stands for a
        state, which these policies do not have. Actions are as the environment takes them.

        Parameters
        ----------
        observation : array, number, dict or tuple
            One observation as the environment gives it, of any space that training takes; or n as
            a vector environment gives them: arrays [n, ...], or a dict or tuple of arrays. If
            training flattened the observations, vectors [size] and [n, size] of
            ``gymnasium.spaces.flatten`` are taken, too; but an array of the shape and type of what
            the environment gives is that. So n integers are n observations of a Discrete, even if
            it has n values.
        state, episode_start
            Ignored; stable-baselines3 has them for recurrent policies.
        deterministic : bool
            True: the best known action. False: an action with exploration, drawn by a policy that
            is random; others explore as at the end of their training.

        Returns
        -------
        actions : for one observation an array of an action's shape, which is () for Discrete
        actions; else [n, ...]
        state : None

        UsageError for another shape, for an integer that the space does not have, and for a number
        that is not finite. A policy that an older rlfabric has written takes vectors only.
        """
        spec = self._acting.spec
        rows, one = spec.rows(observation)
        if not spec.discrete and not spec.low:
            raise UsageError("policy must be of this release of rlfabric, not older: it has no low")
        chosen = self._acting.act(rows, greedy=deterministic, steps=_TRAINED)
        actions = spec.applied(np.asarray(chosen))
        return (actions[0] if one else actions), None


@dataclass(frozen=True)
class Evaluation:
    """The result of ``evaluate``: ``returns``, an array [episodes] with the return of each greedy
    episode, their ``mean``, and their standard ``deviation``."""

    returns: NDArray[np.float64]

    @property
    def mean(self) -> float:
        return float(self.returns.mean())

    @property
    def deviation(self) -> float:
        return float(self.returns.std())


def load_policy(path: str | PathLike[str], *, imports: Sequence[str] = ()) -> Policy:
    """Reads the best policy of a run from the run's folder, or the policy in a file that a run
    wrote (``best.npz``, ``last.npz``).

    torch is not needed. ``imports``: modules that may be imported if the file names them for its
    algorithm; UsageError if it names another one. CheckpointError if there is no such file, or it
    is damaged.

    >>> policy = rlfabric.load_policy("runs/first")
    >>> action, _ = policy.predict(np.zeros(4), deterministic=True)
    >>> action.shape, policy.predict(np.zeros((3, 4)))[0].shape
    ((), (3,))
    """
    acting, info = policy_file.load_policy(policy_of(path), imports)
    return Policy(acting, info["algo"], info["env"], info["score"])


def evaluate(
    policy: Policy,
    env: str | None = None,
    *,
    episodes: int = 20,
    seed: int = 0,
    limit: int | None = None,
    copies: int = 8,
    imports: Sequence[str] = (),
) -> Evaluation:
    """Plays ``episodes`` greedy episodes of ``policy``, and returns the Evaluation with their
    returns. Episode i, from 0 on, starts from ``seed + i``; it is broken off after ``limit``
    steps, by default 100 000, but 2000 as long as no episode has ended. ``copies``: copies of the
    environment that play them, at most 8; 1 where no second instance may exist.

    ``env``: gymnasium's id, or MODULE:ID, whose module is imported. None stands for the environment
    in which the policy was trained; if it has a module, the module must be in ``imports``.
    UsageError for an environment of another kind than the policy's.

    >>> rlfabric.evaluate(rlfabric.load_policy("runs/first"), episodes=2, seed=1).returns.shape
    (2,)
    """
    if episodes < 1:
        raise UsageError(f"episodes must be at least 1, not {episodes!r}")
    if env is None:
        env = policy.env
        check_trusted(env, imports, "the policy")
    check_range("copies", copies, 1, 8)
    with closing(evaluation.Copies(env, episodes, find(policy.algorithm), most=copies)) as played:
        own, found = policy._acting.spec, Spec.of(played.envs[0])
        if any(getattr(own, name) != getattr(found, name) for name in _SAME):
            raise UsageError(f"env must be one that the policy was trained for, not {env!r}")
        returns = evaluation.evaluate(policy._acting, played, seed=seed, limit=limit)
    return Evaluation(np.asarray(returns))
