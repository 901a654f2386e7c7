"""Actors in processes of their own: how much two of them do of the work of one, and what a message
between a run and its actors costs."""

import sys
import time

from bench import row
from bench.actors import messages, processes, speed
from host.actors.placement import ActorOptions, open_actors
from hw.errors import MissingTool

__all__ = ["rows"]

_ACTORS = 2
_SOURCE = "Ray on this machine, two actors of dqn on CartPole-v1"


def rows(area=False, options=None):
    """The list of all rows of this bench; ``area`` adds nothing. Empty if Ray is not installed.

    start_s is the time until Ray is there, and then until its actors have their environments;
    pss_mb is the memory of the run's processes then. The other rows are those of ``speed`` and
    ``messages``. Wall times and speeds are measured on quiet cores alone: if other work runs, their
    value is "not quiet". ``options`` is an ActorOptions, None: actors on this machine.
    """
    options, calm = options or ActorOptions(losses=0), processes.quiet()
    began = time.perf_counter()
    try:
        with open_actors(_ACTORS, options, messages.LARGEST) as actors:
            return [
                _start("Ray", began, calm),
                *_waiting(actors, calm),
                *messages.rows(actors.transport),
                *speed.rows(actors),
            ]
    except MissingTool as error:
        print(f"actors are left out: {error}", file=sys.stderr)
        return []


def _start(name, began, calm):
    started = round(time.perf_counter() - began, 4) if calm else processes.NOT_QUIET
    return row("actors", name, "start_s", started, "s", source=_SOURCE)


def _waiting(actors, calm):
    """The rows of actors that wait for their first request."""
    began = time.perf_counter()
    with speed.acting(speed.config_of("CartPole-v1", 64, _ACTORS), actors) as run:
        run.pool.start()
        found = [_start("actors", began, calm)]
        memory = processes.memory()
    for name, count in memory.items():
        found.append(row("actors", name, "pss_mb", round(count / 1e6, 1), "MB", source=_SOURCE))
    return found
