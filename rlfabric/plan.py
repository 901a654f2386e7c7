"""Plans from a program: the same as ``rlfabric compose``."""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import cast

from rich.console import Console

from host.compose.answer import Answer, TaskOptions, answer_of
from host.compose.machine_library import machine_of
from host.compose.plan_file import PROGRAM, proof_of
from host.compose.profile import LAUNCHES
from host.runs.start_run import run
from rlfabric.kernels import Setting
from rlfabric.run import Run
from system.cache import say

__all__ = ["Composed", "compose"]


@dataclass(frozen=True)
class Composed:
    """The result of ``compose``: where the parts of a training run best.

    Attributes
    ----------
    folder : Path
        The folder with the profile.
    plan : mapping
        The content of plan.json: ``config``, the run; ``mapping``, devices of its parts;
        ``predicted``, gradient steps a second and more; ``alternatives``; ``refused``.
    """

    folder: Path
    plan: Mapping[str, object]
    _answer: Answer

    @property
    def updates_per_second(self) -> float:
        """Gradient steps a second that are predicted for the chosen plan."""
        return cast(float, self._answer.choice.gps)

    @property
    def picture(self) -> bytes:
        """A PNG in the form of PEARL's Fig. 10. MissingTool without matplotlib."""
        return cast(bytes, self._answer.draw())

    def generate(self, *, overwrite: bool = False) -> Path:
        """Writes the plan as a program of at most 80 lines to ``folder``: ``train.py``, whose path
        is returned, ``plan.json``, the kernel that it loads, and ``README.md``.

        UsageError if another plan or program is there and ``overwrite`` is False.
        """
        self._answer.write(program=True, overwrite=overwrite)
        return self.folder / PROGRAM

    def train(
        self,
        *,
        card: str = "model",
        board: str | None = None,
        out: str | PathLike[str] | None = None,
        resume: bool = False,
        overwrite: bool = False,
        progress: bool = True,
    ) -> Run:
        """Trains by the plan, as ``rlfabric.train`` does; arguments and errors are those of that
        function. ``board`` None: that of the plan's card, or u200. If a card trains in place of a
        trainer, the first line on stderr is the statement that was proved."""
        if progress and (proof := proof_of(self._answer.document)) is not None:
            say(proof)
        result = run(
            self._answer.choice.plan.config,
            card=card,
            board=board or self._answer.board,
            out=out,
            resume=resume,
            overwrite=overwrite,
            kernel=self._answer.kernel,
            console=None if progress else Console(quiet=True),
        )
        return Run(result.plot.parent, result.summary)


def compose(
    algorithm: str,
    env: str | None = None,
    *,
    machine: str | None = None,
    board: str | None = None,
    devices: str | PathLike[str] | None = None,
    links: str | PathLike[str] | None = None,
    metric: str = "throughput",
    ratio: int | None = None,
    uniform: bool = False,
    actors: int | None = None,
    messages_us: float | None = None,
    profile: bool = False,
    launches: int = LAUNCHES,
    card: str = "model",
    out: str | PathLike[str] | None = None,
    config: Mapping[str, Setting] | None = None,
    kernel: Mapping[str, Setting] | None = None,
) -> Composed:
    """Finds the devices of a machine on which replay memory and gradient steps of ``algorithm`` run
    best, and returns the Composed (PEARL, section VI).

    Parameters
    ----------
    algorithm, env, config, kernel
        As for ``train``, but where the parts run is left to this function.
    machine, board : str, optional
        One of ``rlfabric list machines``, None for the machine on which the program runs, with a
        card of ``board``, or with the twin.
    devices, links : path, optional
        CSV files of a machine of your own.
    metric : str
        "throughput", or "efficiency": throughput for each watt.
    ratio : int, optional
        Environment steps for each gradient step; None: as the algorithm has it.
    uniform : bool
        Draw uniformly from the replay memory, without priorities.
    actors : int, optional
        Processes that step the environments (extra ``actors``), which the plan has, too; None: the
        environments are stepped by the process that trains.
    messages_us : float, optional
        With ``actors``: microseconds of a message on its way, if actors will be on other machines;
        None: as they were measured here.
    profile : bool
        Whether to train each plan for some ``launches``, a minute or two, and to write the profile
        to ``out``. If not, an earlier profile is read from there.
    launches : int
        At least 5; of few the times mean little.
    card : str
        The card of the profile, as for ``open_card``.
    out : path, optional
        The profile's folder; None: ``runs/compose-ALGORITHM-ENV``.

    UsageError for a wrong argument, without a profile of this task and machine, and if no plan's
    time is known.

    >>> small = {"hidden": (8,), "batch_size": 8, "capacity": 1024}
    >>> found = rlfabric.compose("dqn", "CartPole-v1", profile=True, launches=5, config=small)
    >>> found.plan["mapping"]["act"], found.updates_per_second > 0
    ('cpu0', True)
    """
    settings = dict(config or {}) | {f"kernel.{name}": x for name, x in (kernel or {}).items()}
    asked = TaskOptions(algorithm, env, ratio, uniform, settings, actors=actors)
    found = machine_of(machine, board=board, devices=devices, links=links)
    told = dict(metric=metric, card=card, out=out, measure=profile, launches=launches)
    answer = answer_of(asked, found, messages_us=messages_us, **told)
    return Composed(answer.out, answer.document, answer)
