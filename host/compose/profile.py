"""Profiles: how long each part of an iteration takes here, from short trainings taken in turn.

Primitives that are timed alone do not predict a run: inside it caches are cold, and one interpreter
does everything. So each plan that can run here is trained for some hundred launches.
"""

import json
import platform
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from host.checkpoint import write_text
from host.compose.machine_library import cores
from host.compose.trial import PARTS, trial
from host.runs.summary import versions
from hw.errors import UsageError
from system.cache import say
from system.disk import user_path

__all__ = ["LAUNCHES", "ROUNDS", "WARM", "NoProfile", "Profile", "Profiler", "here", "load"]
__all__ += ["measured", "profile_of", "profiling", "save"]

#: Rounds in which all plans take turns; launches of a plan in all of them; launches before.
ROUNDS, LAUNCHES, WARM = 5, 400, 20
_VERSION = 1
_AGAIN = "measure one: the same command with --profile"


@dataclass(frozen=True)
class Profile:
    """What a plan takes here, in microseconds of a launch.

    updates : float
        Gradient steps of a launch.
    parts : dict
        Part (``host.compose.trial.PARTS``) -> microseconds, if parts run one after the other: the
        median over rounds of the mean over a round's launches.
    run : float
        Microseconds as in a run, where launches are beside the collections. It is more than the sum
        of parts where the twin of a card and the actors wait for each other's interpreter.
    p10, p50, p90 : float
        Of whole launches, parts one after the other; a launch in which episodes end takes longer
        than another.
    """

    updates: float
    parts: dict
    run: float
    p10: float
    p50: float
    p90: float


class Profiler:
    """Plans that are measured in turn; ``profiling`` makes it.

    trials : ``{name: (Trial with launches in line, Trial as in a run)}``
    """

    def __init__(self, trials):
        self._trials = trials
        self._found = {name: [] for name in trials}

    def round(self, launches):
        """Runs ``launches`` launches of each plan, twice: part by part, and as in a run."""
        for name, (apart, whole) in self._trials.items():
            micros, updates = apart.run(launches)
            self._found[name].append((micros, updates, whole.elapsed(launches)[0] / launches))

    def profiles(self):
        """``{name: Profile}`` of the rounds so far."""
        return {name: profile_of(rounds) for name, rounds in self._found.items()}


@contextmanager
def profiling(plans, *, card="model", board="u200"):
    """A context manager whose value is a Profiler of ``plans``, ``{name: (config, kernel)}``.

    ``kernel`` is as for ``host.runs.start_run.run``, as are ``card`` and ``board``. A plan whose
    run raises UsageError is left out, and a line says so.
    """
    with ExitStack() as stack:
        trials = {}
        for name, (config, kernel) in plans.items():
            say(f"profile: {name}")
            told = dict(card=card, board=board, kernel=kernel)
            try:
                found = [
                    stack.enter_context(trial(config, inline=inline, **told))
                    for inline in (True, False)
                ]
            except UsageError as error:
                say(f"profile: not {name}: {error}")
                continue
            for each in found:
                each.warm(WARM)
            trials[name] = found
        yield Profiler(trials)


def measured(plans, *, launches=LAUNCHES, rounds=ROUNDS, **options):
    """``{name: Profile}`` of ``plans``, with ``launches`` launches each in ``rounds`` rounds, in
    which the plans take turns. ``plans`` and ``options`` are as for ``profiling``."""
    with profiling(plans, **options) as profiler:
        for _ in range(rounds):
            profiler.round(max(1, launches // rounds))
        return profiler.profiles()


def profile_of(rounds):
    """The Profile of a plan, from ``(microseconds of parts, updates, microseconds of a run)`` of
    each round."""
    micros = [microseconds for microseconds, *_ in rounds]
    means = np.median([each.mean(axis=0) for each in micros], axis=0)
    whole = np.concatenate(micros).sum(axis=1)
    p10, p50, p90 = np.percentile(whole, (10, 50, 90))
    return Profile(
        updates=sum(updates for _, updates, _ in rounds) / len(whole),
        parts={name: round(float(mean), 3) for name, mean in zip(PARTS, means, strict=True)},
        run=round(float(np.median([run for *_, run in rounds])), 3),
        p10=round(float(p10), 3),
        p50=round(float(p50), 3),
        p90=round(float(p90), 3),
    )


def here():
    """What a profile depends on besides the task: processor, cores and versions of packages."""
    return {"processor": _processor(), "cores": cores(), "versions": versions()}


def _processor():
    """The processor's model, or what Python knows of it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def save(path, task, profiles, **more):
    """Writes a profile's file: ``profiles``, ``{plan: Profile}``, with the ``task`` (a JSON object)
    and the machine for which they hold. ``more`` are further parts of the file."""
    document = {
        "version": _VERSION,
        "machine": here(),
        "task": task,
        "plans": {name: asdict(profile) for name, profile in profiles.items()},
        **more,
    }
    write_text(path, json.dumps(document, indent=2, sort_keys=True) + "\n")


class NoProfile(UsageError):
    """There is no profile of this task and machine."""


def load(path, task):
    """The content of a profile's file, with ``plans`` as ``{name: Profile}``. NoProfile if it is
    absent or damaged, or of another machine or task."""
    path = user_path(path)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        plans = {name: Profile(**values) for name, values in found["plans"].items()}
        whose = {name: found[name] for name in ("version", "machine", "task")}
    except FileNotFoundError:
        raise NoProfile(f"{path.name} must be in {path.parent}, not absent; {_AGAIN}") from None
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        damage = f"{type(error).__name__}: {error}"
        rule = f"{path.name} must be a profile, not damaged ({damage})"
        raise NoProfile(f"{rule}; {_AGAIN}") from error
    for name, wanted in (("version", _VERSION), ("machine", here()), ("task", task)):
        if whose[name] != wanted:
            raise NoProfile(
                f"{path.name} must be of this {name}, not of another one "
                f"({_difference(whose[name], wanted)}); {_AGAIN}"
            )
    return {**found, "plans": plans}


def _difference(found, wanted, name=""):
    """The first thing in which two JSON values differ, in words."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted({*found, *wanted}):
            if found.get(key) != wanted.get(key):
                inside = f"{name}.{key}" if name else key
                return _difference(found.get(key), wanted.get(key), inside)
    return f"{name + ' ' if name else ''}{found!r}, not {wanted!r}"
