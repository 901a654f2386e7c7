"""A trained policy in a file, saved at the best evaluation."""

import math
from os import PathLike
from typing import BinaryIO

import numpy as np

from host import checkpoint
from host.agents.registry import find, find_trusted
from host.algorithms.policy import Policy
from host.environments.spec import Spec
from hw.errors import UsageError

__all__ = ["check_policy", "load_policy", "save_policy"]


def save_policy(
    path: str | PathLike[str] | BinaryIO,
    policy: Policy,
    *,
    algo: str,
    env: str,
    score: float | None,
) -> None:
    """Writes ``policy`` atomically to ``path``, a path or an open binary file. ``algo`` and ``env``
    are names; ``score`` is the mean return of the policy's evaluation, or None."""
    config = {
        "algo": algo,
        "env": env,
        "agent": policy.config.to_dict(),
        "spec": policy.spec.to_dict(),
    }
    checkpoint.save(path, "policy", config, {"parameters": policy.snapshot, "score": score})


def load_policy(path, imports=()):
    """Reads a file of ``save_policy``; torch is not needed.

    Parameters
    ----------
    path : path or file
        The policy's file, or a binary file that is open.
    imports : sequence of str
        Modules that may be imported if the file names them for its algorithm; ValueError if it
        names another one, unless its algorithm is known already.

    Returns
    -------
    policy : Policy
        For ``act(obs, greedy=True)`` and ``predict``.
    info : dict
        ``algo``, ``env``, ``score``, as they were given to ``save_policy``.

    CheckpointError if the file is absent, damaged or not a policy of this release. Reading takes
    no more memory than a few times the file's size, whatever its config says.
    """
    config, state = checkpoint.load(path, "policy")
    if "spec" not in config:
        raise checkpoint.CheckpointError(f"{path} must be of this release of rlfabric, not older")
    algo = config.get("algo")
    if isinstance(algo, str) and ":" in algo:
        find_trusted(algo, imports, path)
    try:
        algorithm = find(config["algo"])
        agent, spec = algorithm.config.from_dict(config["agent"]), Spec.from_dict(config["spec"])
        parameters, env, score = state["parameters"], config["env"], state["score"]
        if not isinstance(env, str):
            raise TypeError(f"env must be a text, not {env!r}")
        if score is not None and type(score) not in (int, float):
            raise TypeError(f"score must be a number, not {score!r}")
        first = _FirstWeights(sum(x.size for x in parameters.values() if hasattr(x, "size")))
        policy = algorithm.policy(agent, spec, weights=first)
        policy.load_snapshot(parameters)
        return policy, {"algo": config["algo"], "env": env, "score": score}
    except checkpoint.WRONG as error:
        raise checkpoint.CheckpointError(
            f"{path} must be of this release of rlfabric, not another's "
            f"({type(error).__name__}: {error})"
        ) from error


def check_policy(path, policy, obs):
    """UsageError unless the policy of a file of ``policy`` acts greedily as ``policy`` itself, to
    the byte, for observations [rows, ...]."""
    policy.check_copy(load_policy(path)[0], obs)


class _FirstWeights(np.random.Generator):
    """Zeros as first weights, which the file's weights replace. If a config asks for many more than
    the ``count`` of the file, ValueError before any memory is taken for them."""

    #: a policy may draw for a weight more than once
    _TIMES = 4

    def __init__(self, count):
        super().__init__(np.random.PCG64(0))
        self._count, self._drawn = count, 0

    def uniform(self, low=0.0, high=1.0, size=None):
        self._drawn += math.prod(size)
        if self._drawn > self._TIMES * self._count:
            raise UsageError(
                f"parameters must be as many as the config says, not {self._count} numbers"
            )
        return np.zeros(size)

    def normal(self, loc=0.0, scale=1.0, size=None):
        return self.uniform(size=size)
