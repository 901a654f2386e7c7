"""Actors in processes of their own: how much two of them do of the work of one, and what a message
between a run and its actors costs."""

import sys
import time

from bench import row
from bench.actors import messages, processes, speed
from host.actors.session import ActorOptions, open_actors
from hw.errors import MissingTool

__all__ = ["rows"]

_ACTORS = 2
_SOURCE = "Ray on this machine, two actors of dqn on CartPole-v1"


def rows(area=False, options=None):
    """The list of all rows of this bench; ``area`` adds nothing. Empty if Ray is not installed.

    start_s is the time from the beginning of a run until its actors have their environments, and
    pss_mb the memory of its processes then. The other rows are those of ``speed`` and
    ``messages``. ``options`` is an ActorOptions, None: actors on this machine.
    """
    options, began = options or ActorOptions(losses=0), time.perf_counter()
    try:
        with open_actors(_ACTORS, options, messages.LARGEST) as actors:
            started = time.perf_counter() - began
            return [
                row("actors", "Ray", "start_s", round(started, 2), "s", source=_SOURCE),
                *_waiting(actors),
                *messages.rows(actors.transport),
                *speed.rows(actors),
            ]
    except MissingTool as error:
        print(f"actors are left out: {error}", file=sys.stderr)
        return []


def _waiting(actors):
    """The rows of actors that wait for their first request."""
    began = time.perf_counter()
    with speed.acting(speed.config_of("CartPole-v1", 64, _ACTORS), actors) as run:
        run.pool.start()
        started = time.perf_counter() - began
        memory = processes.memory()
    found = [row("actors", "actors", "start_s", round(started, 2), "s", source=_SOURCE)]
    for name, count in memory.items():
        found.append(row("actors", name, "pss_mb", round(count / 1e6, 1), "MB", source=_SOURCE))
    return found
