"""Returns of random actions, from which claims of "as good as" count gains: ``docs/learning/
random.json``, with a line for each environment.

Each number is from ``EPISODES`` episodes, with seeds from 0 on, in the environments of a run of the
claim. If an environment's package is not installed, its line stays as it is. Without a line, claims
of this environment are not decided.
"""

import json
import warnings
from contextlib import closing
from pathlib import Path

import numpy as np

from bench.learning.interval import Sample
from bench.learning.records import lines
from bench.provenance import commit, now
from host.agents.evaluation import Copies, evaluate
from host.checkpoint import write_text
from host.environments.spec import Spec

__all__ = ["EPISODES", "measure", "read", "sample", "write"]

EPISODES = 1000
_FILE = "random.json"


class _Random:
    """A policy of uniformly random actions; boxes are [-1, 1], as for rlfabric's agents."""

    def __init__(self, spec, seed):
        self._spec, self._rng = spec, np.random.default_rng(seed)

    def act(self, obs, *, greedy=False, steps=0):
        count, actions = len(obs), self._spec.action_count
        if self._spec.discrete:
            return self._rng.integers(actions, size=count)
        return self._rng.uniform(-1, 1, (count, actions)).astype(np.float32)


def measure(config, episodes=EPISODES):
    """``{mean, deviation, episodes, commit, date}``: the returns of random actions in the
    environment of a run's ``config``, over so many ``episodes``.

    ValueError if the environment is not installed.
    """
    with closing(Copies(config.env, episodes, config.algorithm)) as copies:
        policy = _Random(Spec.of(copies.envs[0]), 0)
        with warnings.catch_warnings():  # episodes that have no end are cut, as in evaluations
            warnings.simplefilter("ignore", RuntimeWarning)
            returns = evaluate(policy, copies, seed=0, limit=config.evaluation_steps)
    return {
        "mean": round(float(np.mean(returns)), 4),
        "deviation": round(float(np.std(returns, ddof=1)), 4),
        "episodes": len(returns),
        "commit": commit(),
        "date": now(),
    }


def read(folder):
    """``{environment's id: result of measure}`` from the file in ``folder``; empty without one."""
    path = Path(folder) / _FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def sample(found):
    """The Sample of a result of ``measure``."""
    return Sample(found["mean"], found["deviation"], found["episodes"])


def write(folder, found):
    """Writes ``found``, ``{environment: JSON values}``."""
    path = Path(folder) / _FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, lines(dict(sorted(found.items()))))
