"""Where actors are: in this process, in processes of this machine, or on machines of a cluster."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from host.actors.cluster import check_ray, joined
from host.actors.local_transport import InlineTransport
from host.actors.ray_process import RayFailed
from host.actors.ray_session import RayPlan
from host.actors.ray_transport import RayTransport
from hw.errors import Failure, UsageError
from system.cache import say
from system.disk import user_path

__all__ = ["ActorOptions", "Actors", "actors_of", "open_actors"]

#: Ray's least object store, and the shared memory that one in a container may have.
_STORE, _SHARED = 80 << 20, Path("/dev/shm")
#: Actors of a core at most.
_A_CORE = 4
_MIB = 1 << 20
#: Seconds for the start of Ray, if nothing else is asked.
_START_S = 60.0


@dataclass(frozen=True, kw_only=True)
class ActorOptions:
    """Where the actors of a run are, and what is done about lost ones; nothing of it changes what a
    run computes.

    address : HOST:PORT of a Ray cluster that is running; None: this machine.
    inline : whether actors are in this process, and answer when they are asked.
    limit, start, losses : as for ``host.actors.pool.Pool``; ``start`` also limits Ray's start.
    ship : a folder that is sent to all machines of the cluster, as their current folder.
    """

    address: str | None = None
    inline: bool = False
    limit: float | None = None
    start: float | None = None
    losses: int = 3
    ship: Path | None = None

    def __post_init__(self):
        if self.inline and self.address:
            raise UsageError(f"inline must be without an address, not with {self.address!r}")
        if self.ship and not self.address:
            raise UsageError("ship must be with the address of a cluster, not without")
        if self.ship and not user_path(self.ship).is_dir():
            raise UsageError(f"ship must be a folder, not {str(self.ship)!r}")
        for name, value in (("actor_limit", self.limit), ("actor_start", self.start)):
            if value is not None and not value > 0:
                raise UsageError(f"{name} must be above 0 seconds, not {value}")
        if self.losses < 0:
            raise UsageError(f"actor_losses must be at least 0, not {self.losses}")


@dataclass(frozen=True, kw_only=True)
class Actors:
    """Arguments of a run's Pool: ``transport``, ``limit``, ``start``, ``losses``, ``report``."""

    transport: InlineTransport | RayTransport
    limit: float | None = None
    start: float | None = None
    losses: int = 3
    report: Callable = print


def actors_of(text):
    """``(count, address)`` of ``--actors``: a number from 1 to 256, or HOST:PORT; the other one is
    None. UsageError otherwise."""
    rule = "actors must be a number of actors, 1 to 256, or HOST:PORT of a cluster"
    if text.startswith("ray://"):
        raise UsageError(
            f"actors must be HOST:PORT of `ray start`, not {text!r}: that is Ray's client "
            "protocol, which a driver on another machine speaks; run this command on a node of the "
            "cluster"
        )
    host, colon, port = text.rpartition(":")
    if colon and host and port.isdecimal() and 0 < int(port) < 1 << 16:
        return None, text
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= 256):
        raise UsageError(f"{rule}, not {text!r}")
    return int(text), None


@contextmanager
def open_actors(count: int, options: ActorOptions, message_bytes: int = 0) -> Iterator[Actors]:
    """A context manager whose value is the Actors for a run with ``count`` actors, whose messages
    have ``message_bytes``. All that it starts ends with the block.

    MissingTool without Ray; UsageError for more actors than the cores allow; Failure if the shared
    memory is too small, Ray does not start, or the cluster cannot be joined.
    """
    told = dict(limit=options.limit, start=options.start, losses=options.losses)
    if options.inline:
        yield Actors(transport=InlineTransport(), **told)
        return
    check_ray()
    if options.address:
        _check_cluster(options.address, count)
        ship = str(user_path(options.ship)) if options.ship else None
        plan = RayPlan(count, address=options.address, ship=ship)
    else:
        _check_cores(count)
        plan = RayPlan(count, store=_store(count, message_bytes))
    with closing(_started(plan, options.start or _START_S)) as transport:
        yield Actors(transport=transport, **told)


def _started(plan, limit):
    """The RayTransport; on a machine that is busy the first attempt may take too long."""
    try:
        return RayTransport(plan, limit)
    except RayFailed as failed:
        say(f"{failed}; it is started once more")
        return RayTransport(plan, limit)


def _check_cores(count):
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if count > _A_CORE * cores:
        raise UsageError(
            f"actors must be at most {_A_CORE * cores}, {_A_CORE} for each of {cores} cores, "
            f"not {count}"
        )


def _check_cluster(address, count):
    found = joined(address)
    free = int(found["free"])
    if count > free:
        nodes = ", ".join(f"node {name}: {cpus:.0f}" for name, cpus in found["nodes"].items())
        raise UsageError(f"actors must be at most {free}, the free CPUs ({nodes}), not {count}")


def _store(count, message_bytes):
    """Bytes of Ray's object store: four times the messages that may be under way."""
    wanted = max(_STORE, 8 * count * message_bytes)
    if not _SHARED.is_dir():
        return wanted
    free = shutil.disk_usage(_SHARED).free
    if free // 2 < _STORE:
        raise Failure(
            f"shared memory must have {2 * _STORE // _MIB} MiB free, not {free // _MIB}: "
            "docker run --shm-size=256m"
        )
    return min(wanted, free // 2)
