"""The runs: the presets of the learner on the card, in each arithmetic and on the CPU."""

import warnings
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from rich.console import Console

from host.collect.environment_id import reward_threshold
from host.train.log import read_progress
from host.train.preset import preset
from host.train.run import run as train
from sim.tools import BUILD_DIRECTORY

__all__ = ["CASES", "KINDS", "Case", "Result", "run"]

#: What learns: the card in either arithmetic; the CPU, which draws from the card.
KINDS = ("float32", "fixed", "cpu")


@dataclass(frozen=True)
class Case:
    """Seeds 0 .. ``seeds`` - 1, of which ``needed`` are to be solved in each arithmetic."""

    algo: str
    env: str
    seeds: int
    needed: int

    @property
    def threshold(self):
        """Mean greedy return from which on the environment counts as solved."""
        return reward_threshold(self.env)


CASES = (Case("dqn", "CartPole-v1", 5, 4), Case("ddpg", "Pendulum-v1", 3, 2))


class Result(NamedTuple):
    """``summary``: of summary.json; ``curve``: (gradient steps, greedy return) points."""

    summary: dict
    curve: list


@cache
def run(case, kind, seed):
    """Train on card ``model`` until solved; the Result. The CPU learner trains as the card does,
    with the card's preset."""
    out = BUILD_DIRECTORY / "bench" / "training" / f"{case.env}-{kind}-{seed}"
    kernel = {} if kind == "cpu" else {"learner.arithmetic.kind": kind}
    learner = "cpu" if kind == "cpu" else "card"
    config = replace(preset(case.algo, "card"), learner=learner, seed=seed, until_solved=True)
    with warnings.catch_warnings():
        # progress.csv counts what fixed point clips
        warnings.simplefilter("ignore", RuntimeWarning)
        summary = train(
            config,
            card="model",
            out=out,
            overwrite=True,
            kernel=kernel,
            console=Console(quiet=True),
        ).summary
    # One update a launch, from the first launch that learns.
    before = summary["launches"] - summary["updates"]
    curve = [
        (row["launches"] - before, row["evaluation_return"])
        for row in read_progress(out)
        if row["evaluation_return"] is not None
    ]
    return Result(summary, curve)
