"""Trainings from a program: the same as ``rlfabric train``, with a callback."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import cast

from rich.console import Console

from host.cards import is_simulated
from host.cli.actor_options import acting
from host.runs.loop import Progress
from host.runs.request import request
from host.runs.run_log import read_progress
from host.runs.start_run import run
from rlfabric.kernels import Setting
from rlfabric.policy import Policy, load_policy

__all__ = ["Run", "train"]


@dataclass(frozen=True, repr=False)
class Run:
    """The result of ``train``: a training that has ended.

    Attributes
    ----------
    folder : Path
        The run's folder, with progress.csv, returns.png, summary.json, TensorBoard's events, the
        best policy and a checkpoint.
    summary : mapping
        The content of summary.json.
    """

    folder: Path
    summary: Mapping[str, object]

    def __repr__(self) -> str:
        told = f"steps={self.steps}, mean_return={self.mean_return}, solved={self.solved}"
        return f"{type(self).__name__}({str(self.folder)!r}, {told})"

    @property
    def policy(self) -> Policy:
        """The policy that was best in the run's evaluations, read from the folder. CheckpointError
        if the run was interrupted before its first evaluation."""
        return load_policy(self.folder)

    @property
    def steps(self) -> int:
        """Environment steps that were taken."""
        return cast(int, self.summary["steps"])

    @property
    def mean_return(self) -> float | None:
        """Mean return of the final greedy evaluation; None after an interrupt."""
        return cast(float | None, self.summary["mean_return"])

    @property
    def solved(self) -> bool:
        """Whether the mean return reached the threshold."""
        return bool(self.summary["solved"])

    @property
    def interrupted(self) -> bool:
        """Whether SIGINT or SIGTERM ended the run before its final evaluation; ``train(...,
        resume=True)`` with the same ``out`` continues it."""
        return bool(self.summary["interrupted"])

    @property
    def progress(self) -> list[dict[str, float | None]]:
        """The rows of progress.csv, a dict of column -> number for each; None for an empty cell."""
        rows: list[dict[str, float | None]] = read_progress(self.folder)
        return rows


def train(
    algorithm: str,
    env: str | None = None,
    *,
    card: str = "model",
    steps: int | None = None,
    seed: int | None = None,
    learner: str | None = None,
    memory: str | None = None,
    callback: Callable[[Progress], bool | None] | None = None,
    out: str | PathLike[str] | None = None,
    board: str = "u200",
    preset: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: bool = True,
    actors: int | str | None = None,
    inline: bool = False,
    deterministic: bool = False,
    config: Mapping[str, Setting] | None = None,
    kernel: Mapping[str, Setting] | None = None,
) -> Run:
    """Trains an agent, as the command ``rlfabric train`` does, until the training ends; returns the
    Run.

    Parameters
    ----------
    algorithm : str
        One of ``rlfabric list algorithms``, or MODULE:NAME.
    env : str, optional
        gymnasium's id, or MODULE:ID; None stands for the algorithm's own.
    card : str
        As for ``open_card``.
    steps, seed : int, optional
        None: the algorithm's number of steps, and seed 0.
    learner : str, optional
        "card" or "cpu", where gradient steps are done. None: "card" if the algorithm has a kernel
        that trains, and does not learn from images in a replay memory; else "cpu".
    memory : str, optional
        The replay memory of an algorithm that has one: "card", or on the CPU "tree" (prioritized)
        or "ring" (uniform). None: "card". With "tree" or "ring", and learner "cpu", ``card`` is not
        opened.
    callback : callable, optional
        ``callback(Progress)`` is called after each launch. If it returns False, the run ends with a
        checkpoint and an evaluation, as if all steps had been taken.
    out : path, optional
        The run's folder; None: a new one below ``runs/``.
    board, preset : str, optional
        Name of the board of the kernel; one of the algorithm's presets, None for its default.
    resume, overwrite : bool
        Whether an earlier run in the folder is continued, or replaced.
    progress : bool
        Show a progress bar.
    actors : int or str, optional
        Processes that step the environments, or HOST:PORT of a Ray cluster, whose free CPUs less
        one do; None: this process steps them. The program must not have imported ray before.
    inline, deterministic : bool
        Whether the actors are called one after another in this process; whether their messages are
        taken in turn, so that equal seeds give equal bytes.
    config, kernel : mapping, optional
        ``config``: fields of the run and its agent; ``kernel``: fields of the kernel. ``rlfabric
        show`` lists all of them.

    SIGINT and SIGTERM end the training with a checkpoint, and the Run is ``interrupted``.
    UsageError if the request is not possible; MissingTool if a program or package is missing;
    Failure if the card or the training fails. After a failure during the training, ``last.npz`` has
    the policy as it was, and notes of the error say how to continue.

    >>> def enough(progress):
    ...     return progress.steps < 1500  # False ends the run
    >>> run = rlfabric.train("dqn", "CartPole-v1", steps=10_000, callback=enough, out="runs/first",
    ...                      config={"evaluation_episodes": 2}, progress=False)
    >>> 1500 <= run.steps < 1600, run.mean_return > 0, run.policy.env
    (True, True, 'CartPole-v1')

    With two actors that are called in this process, as a test of an environment may:

    >>> rlfabric.train("dqn", "CartPole-v1", steps=400, actors=2, inline=True, out="runs/second",
    ...                config={"evaluation_episodes": 2}, progress=False).summary["actors"]
    2
    """
    settings = dict(config or {}) | {f"kernel.{name}": x for name, x in (kernel or {}).items()}
    told = None if actors is None else str(actors)
    acts, where = acting(told, fixed=deterministic, inline=inline)
    own = dict(env=env, steps=steps, seed=seed, learner=learner, memory=memory)
    made, fields = request(
        algorithm,
        options=own | acts,
        settings=settings,
        preset_name=preset,
        board=board if is_simulated(card) else None,
    )
    result = run(
        made,
        card=card,
        board=board,
        out=out,
        preset_name=preset,
        resume=resume,
        overwrite=overwrite,
        kernel=fields,
        console=None if progress else Console(quiet=True),
        callback=callback,
        actors=where,
    )
    return Run(result.plot.parent, result.summary)
