"""Ray, on this machine or on a cluster, in the process that is made for it
(``host.actors.ray_process``).

Ray listens on all interfaces unless it is told not to, and whoever reaches one of its ports runs
code as its user. So a session without a cluster stays on loopback, with a token of its own.
"""

import importlib
import os
import secrets
import signal
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from host.actors.cluster import check_nodes
from hw.errors import Failure
from hw.extras import needed
from system.disk import temporary_folder

__all__ = ["PLACE", "RayPlan", "ignore_signals", "ray_session"]

#: Where Ray's sockets are, whose paths may have about 100 characters; None: where the system has
#: its temporary files.
PLACE = Path("/tmp") if Path("/tmp").is_dir() else None

#: Environment of Ray and of all processes that it starts. The first name is Ray's for "this machine
#: alone": without it Ray takes the machine's outward address, and listens on all interfaces.
_LOCAL = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token"}
_TOKEN = "RAY_AUTH_TOKEN"
_ALWAYS = {"RAY_USAGE_STATS_ENABLED": "0"}


@dataclass(frozen=True)
class RayPlan:
    """What Ray is started with.

    count : CPUs on this machine, one for each actor.
    store : bytes of the object store on this machine.
    address : HOST:PORT of the cluster that is joined; None: Ray is started on this machine.
    ship : path of a folder that all machines of the cluster get; None: none.
    """

    count: int
    store: int = 0
    address: str | None = None
    ship: str | None = None


@contextmanager
def ray_session(plan):
    """A context manager whose value is the module ``ray``, initialized by a RayPlan. On this
    machine its logs and sockets are in a folder that only this user can enter, and that goes with
    it. Failure if a cluster is not as this machine is."""
    os.environ.update(_ALWAYS)
    if plan.address:
        more = {"runtime_env": {"working_dir": plan.ship}} if plan.ship else {}
        with _initialized(address=plan.address, **more) as ray:
            check_nodes(ray)
            yield ray
        return
    os.environ.update(_LOCAL | {_TOKEN: secrets.token_hex(32)})
    with temporary_folder(PLACE) as folder:
        if importlib.import_module("ray._private.ray_constants").ENABLE_RAY_CLUSTER:
            raise Failure("Ray must stay on loopback, not listen on all interfaces")
        with _initialized(
            address="local",
            num_cpus=plan.count,
            num_gpus=0,
            object_store_memory=plan.store,
            include_dashboard=False,
            _temp_dir=str(folder / "ray"),  # Ray opens it to everybody
        ) as ray:
            yield ray


class _Searched(list):
    """Folders that Ray puts first on the path of its workers. It adds the current folder, where a
    stranger's ``numpy.py`` may be: only folders that are on this process's path are taken."""

    def extend(self, folders):
        own = {os.path.realpath(place) for place in sys.path}
        super().extend(place for place in folders if os.path.realpath(place) in own)


@contextmanager
def _initialized(**options):
    ray = needed("ray", "actors", "for actors")
    job = importlib.import_module("ray.job_config").JobConfig()
    job._py_driver_sys_path = _Searched()
    quiet = dict(log_to_driver=False, logging_level="ERROR", configure_logging=False)
    ray.init(job_config=job, **quiet, **options)
    ignore_signals()  # Ray's own handlers would end this process
    try:
        yield ray
    finally:
        ray.shutdown()


def ignore_signals():
    """SIGINT and SIGTERM do nothing in this process from now on: the run says when Ray ends. They
    have a function, and not SIG_IGN, which the processes that Ray starts would inherit."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
