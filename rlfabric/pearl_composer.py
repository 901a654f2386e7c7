"""PEARL's Composer: its nine names (section III, Listing 1).

>>> from rlfabric import Composer
>>> short = Composer(launches=5, config={"hidden": (8,), "batch_size": 8})
>>> short.set_opt_metric("Throughput")
>>> short.set_actors(4, env="CartPole-v1")
>>> short.set_train_function(learner="dqn")
>>> short.set_replay(1024, mode="prioritized", fanout=4)
>>> rm, learner = short.run()
>>> short.RuntimeGen(replay=rm, learner=learner).name
'train.py'
"""

import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import cast

from host.agents.registry import known_trainer
from host.compose.profile import LAUNCHES, NoProfile
from hw.errors import UsageError
from rlfabric.kernels import Setting
from rlfabric.plan import Composed, compose

__all__ = ["Composer", "PearlComposer", "Placed"]

#: Words for a metric -> its name.
_METRICS = {"throughput": "throughput", "power efficiency": "efficiency"}
_METRICS |= {"efficiency": "efficiency"}
_RM, _LEARNER = "replay memory", "learner"
_MODES = {"prioritized": False, "uniform": True}


@dataclass(frozen=True)
class Placed:
    """A part of the system and the ``device`` on which it runs, by the machine's name for it. Both
    parts of a plan have the plan's ``hash``. ``part``: "replay memory" or "learner"; ``device`` is
    None for the replay memory of an algorithm that has none."""

    part: str
    device: str | None
    hash: str


class PearlComposer:
    """Composes a training as PEARL's ``Composer`` does; it stands there as ``rlfabric.Composer``.
    The methods of the paper set what ``run`` then finds the best devices for; ``compose`` is the
    same as a function. ``RuntimeGen`` clears all settings, so that the next listing begins anew.

    ``Composer(...)`` makes another one, with options that the paper does not have: ``card`` and
    ``launches`` of the profile, its folder ``out``, ``ratio``, and ``config`` and ``kernel``, as
    for ``compose``.
    """

    def __init__(
        self,
        *,
        card: str = "model",
        launches: int = LAUNCHES,
        out: str | PathLike[str] | None = None,
        ratio: int | None = None,
        config: Mapping[str, Setting] | None = None,
        kernel: Mapping[str, Setting] | None = None,
    ) -> None:
        self._card, self._launches, self._out, self._ratio = card, launches, out, ratio
        self._config, self._kernel = dict(config or {}), dict(kernel or {})
        self._found: Composed | None = None
        self._forget()

    def _forget(self) -> None:
        """Nothing is set, as at the beginning."""
        self._files: dict[str, str | PathLike[str]] = {}
        self._metric, self._uniform = "throughput", False
        self._algorithm: str | None = None
        self._env: str | None = None
        self._actors: dict[str, Setting] = {}
        self._memory: dict[str, Setting] = {}
        self._tree: dict[str, Setting] = {}

    def __call__(self, **options: object) -> "PearlComposer":
        return PearlComposer(**options)  # type: ignore[arg-type]

    def set_device_file(self, path: str | PathLike[str]) -> None:
        """The devices of the machine, a CSV file (docs/composer.md). Without files the machine is
        the one on which the program runs."""
        self._files["devices"] = path

    def set_connection_file(self, path: str | PathLike[str]) -> None:
        """The links between the devices, a CSV file."""
        self._files["links"] = path

    def set_opt_metric(self, metric: str) -> None:
        """What is made large: "Throughput" or "Power Efficiency"."""
        self._metric = _METRICS[_one_of("metric", metric, _METRICS)]

    def set_actors(self, num_actors: int, env: str) -> None:
        """``num_actors`` environments ``env``, an id of gymnasium or MODULE:ID."""
        self._actors, self._env = {"env_count": num_actors}, env

    def set_train_function(self, learner: type | str) -> None:
        """What learns: a trainer's class (docs/composer.md has its contract), or the name of an
        algorithm as for ``train``."""
        self._algorithm = learner if isinstance(learner, str) else _named(learner)

    def set_replay(self, size: int, mode: str = "prioritized", fanout: int | None = None) -> None:
        """A replay memory of ``size`` experiences, which are drawn by priority ("prioritized") or
        with equal probabilities ("uniform"). ``fanout``: children of a node of the kernel's sum
        tree; None: its default."""
        self._uniform = _MODES[_one_of("mode", mode, _MODES)]
        self._memory = {"capacity": size}
        self._tree = {} if fanout is None else {"fanout": fanout}

    def run(self) -> tuple[Placed, Placed]:
        """Finds the best devices, and returns ``(replay memory, learner)``. All plans that can run
        here are measured, a minute or two, unless a profile of this task is in the folder.

        UsageError if something was not set, and as for ``compose``.
        """
        for name, value in (("set_actors", self._env), ("set_train_function", self._algorithm)):
            if value is None:
                raise UsageError(f"{name} must be called before run, not left out")
        try:
            self._found = self._composed(profile=False)
        except NoProfile:
            self._found = self._composed(profile=True)
        plan = cast(Mapping[str, Mapping[str, str | None]], self._found.plan)
        code = cast(str, self._found.plan["hash"])
        rm, learner = (plan["mapping"][name] for name in ("rm", "learner"))
        return Placed(_RM, rm, code), Placed(_LEARNER, learner, code)

    def _composed(self, profile: bool) -> Composed:
        return compose(
            cast(str, self._algorithm),
            self._env,
            devices=self._files.get("devices"),
            links=self._files.get("links"),
            metric=self._metric,
            ratio=self._ratio,
            uniform=self._uniform,
            profile=profile,
            launches=self._launches,
            card=self._card,
            out=self._out,
            config=self._config | self._actors | self._memory,
            kernel=self._kernel | self._tree,
        )

    def RuntimeGen(self, replay: Placed, learner: Placed, *, overwrite: bool = False) -> Path:
        """Writes the program of the plan that ``run`` has found, as ``Composed.generate`` does;
        returns its path. ``replay`` and ``learner`` must be what ``run`` has returned; else
        UsageError."""
        found = self._found
        if found is None or {replay.hash, learner.hash} != {found.plan["hash"]}:
            raise UsageError(
                f"replay and learner must be what the last run has returned, not {replay!r} and "
                f"{learner!r}"
            )
        if (replay.part, learner.part) != (_RM, _LEARNER):
            raise UsageError(f"replay must be a {_RM} and learner a {_LEARNER}, not the other way")
        path = found.generate(overwrite=overwrite)
        self._forget()
        return path


def _one_of(name: str, value: str, known: Mapping[str, object]) -> str:
    """``value`` in small letters; UsageError if it is not ``known``."""
    if value.lower() not in known:
        raise UsageError(f"{name} must be {' or '.join(known)}, not {value!r}")
    return value.lower()


def _named(trainer: type) -> str:
    """``FILE.py:CLASS`` of a trainer's class, which is known by this name from now on."""
    file = inspect.getsourcefile(trainer)
    if file is None:
        raise UsageError(f"learner must be a class in a file, not {trainer!r}")
    name = f"{os.path.relpath(file)}:{trainer.__qualname__}"
    known_trainer(name, trainer)
    return name


#: The one that programs of the paper use.
Composer = PearlComposer()
