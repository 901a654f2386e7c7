"""Where actors are: in this process, in processes of this machine, or on the machines of a cluster.

Ray listens on all interfaces unless it is told not to, and whoever reaches one of its ports runs
code as its user. So processes of this machine alone stay on loopback, with a token of their own.
"""

import importlib
import os
import secrets
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from host.actors.cluster import check_nodes, joined
from host.actors.local_transport import InlineTransport
from host.actors.ray_transport import RayTransport
from hw.errors import Failure, UsageError
from hw.extras import needed

__all__ = ["ActorOptions", "Actors", "actors_of", "open_actors"]

#: Ray's least object store, and the shared memory that one in a container may have.
_STORE, _SHARED = 80 << 20, Path("/dev/shm")
#: Where Ray's sockets are, whose paths may have about 100 characters.
_PLACE = Path("/tmp")
#: Actors of a core at most.
_A_CORE = 4
_MIB = 1 << 20

#: Environment of Ray and of all processes that it starts. The first name is Ray's for "this machine
#: alone": without it Ray takes the machine's outward address, and listens on all interfaces.
_LOCAL = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token"}
_TOKEN = "RAY_AUTH_TOKEN"
_ALWAYS = {"RAY_USAGE_STATS_ENABLED": "0"}


@dataclass(frozen=True, kw_only=True)
class ActorOptions:
    """Where the actors of a run are, and what is done about lost ones; nothing of it changes what a
    run computes.

    address : HOST:PORT of a Ray cluster that is running; None: this machine.
    inline : whether actors are in this process, and answer when they are asked.
    limit, losses : as for ``host.actors.pool.Pool``.
    ship : a folder that is sent to all machines of the cluster, as their current folder.
    """

    address: str | None = None
    inline: bool = False
    limit: float | None = None
    losses: int = 3
    ship: Path | None = None

    def __post_init__(self):
        if self.inline and self.address:
            raise UsageError(f"inline must be without an address, not with {self.address!r}")
        if self.ship and not self.address:
            raise UsageError("ship must be with the address of a cluster, not without")
        if self.ship and not Path(self.ship).is_dir():
            raise UsageError(f"ship must be a folder, not {str(self.ship)!r}")
        if self.limit is not None and not self.limit > 0:
            raise UsageError(f"actor_limit must be above 0 seconds, not {self.limit}")
        if self.losses < 0:
            raise UsageError(f"actor_losses must be at least 0, not {self.losses}")


@dataclass(frozen=True, kw_only=True)
class Actors:
    """What a run's Pool needs: its ``transport``, ``limit``, ``losses`` and ``report``."""

    transport: InlineTransport | RayTransport
    limit: float | None = None
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

    MissingTool without Ray; UsageError if there is no space for the actors, or if the program has
    begun to use Ray for itself; Failure if the cluster cannot be joined.
    """
    told = dict(limit=options.limit, losses=options.losses)
    if options.inline:
        yield Actors(transport=InlineTransport(), **told)
        return
    with ExitStack() as stack:
        if options.address:
            stack.enter_context(_cluster(options, count))
        else:
            stack.enter_context(ray_here(count, message_bytes))
        yield Actors(transport=RayTransport(), **told)


@contextmanager
def ray_here(count, message_bytes=0):
    """A context manager: Ray with ``count`` CPUs on this machine alone. Its logs and sockets are in
    a folder that only this user can enter, and that is removed at the end."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if count > _A_CORE * cores:
        raise UsageError(
            f"actors must be at most {_A_CORE * cores}, {_A_CORE} for each of {cores} cores, "
            f"not {count}"
        )
    store = _store(count, message_bytes)
    place = dict(dir=_PLACE if _PLACE.is_dir() else None, ignore_cleanup_errors=True)
    with (
        TemporaryDirectory(prefix="rlfabric-", **place) as folder,
        _environment(_ALWAYS | _LOCAL | {_TOKEN: _token()}),
    ):
        ray = _ray()
        if importlib.import_module("ray._private.ray_constants").ENABLE_RAY_CLUSTER:
            raise UsageError(
                "actors must be made before this program imports ray, which would listen on all "
                "interfaces now; or --actors must be HOST:PORT of a cluster"
            )
        with _initialized(
            ray,
            address="local",
            num_cpus=count,
            num_gpus=0,
            object_store_memory=store,
            include_dashboard=False,
            _temp_dir=str(Path(folder) / "ray"),  # Ray opens it to everybody
        ):
            yield


@contextmanager
def _cluster(options, count):
    with _environment(_ALWAYS):
        ray = _ray()
        found = joined(options.address)
        free = int(found["free"])
        if count > free:
            nodes = ", ".join(f"node {name}: {cpus:.0f}" for name, cpus in found["nodes"].items())
            raise UsageError(f"actors must be at most {free}, the free CPUs ({nodes}), not {count}")
        more = {"runtime_env": {"working_dir": str(options.ship)}} if options.ship else {}
        with _initialized(ray, address=options.address, **more):
            check_nodes(ray)
            yield


class _Searched(list):
    """Folders that Ray puts first on the path of its workers. It adds the current folder, where a
    stranger's ``numpy.py`` may be: only folders that are on this process's path are taken."""

    def extend(self, folders):
        own = {os.path.realpath(place) for place in sys.path}
        super().extend(place for place in folders if os.path.realpath(place) in own)


@contextmanager
def _initialized(ray, **options):
    # What a dead worker's machine has to say would be on stdout, whatever log_to_driver is.
    importlib.import_module("ray._private.worker").print_to_stdstream = lambda *_, **__: None
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    job = importlib.import_module("ray.job_config").JobConfig()
    job._py_driver_sys_path = _Searched()
    quiet = dict(log_to_driver=False, logging_level="ERROR", configure_logging=False)
    try:
        ray.init(job_config=job, **quiet, **options)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)  # Ray's own would end the run without a checkpoint
    try:
        yield
    finally:
        ray.shutdown()


@cache
def _token():
    """A token for Ray, the same in all of this process: Ray reads it once."""
    return secrets.token_hex(32)


def _ray():
    ray = needed("ray", "actors", "for actors")
    if ray.is_initialized():
        raise UsageError("actors must be made where ray.init was not called, not beside it")
    return ray


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


@contextmanager
def _environment(values):
    """A context manager: within the block, environment variables are ``values``."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
