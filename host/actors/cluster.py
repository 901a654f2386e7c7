"""A Ray cluster of the user's: whether it answers, whether it lets this process join, and whether
all of its machines have this project as it is here."""

import importlib.util
import json
import socket
import subprocess
from pathlib import Path

from host.actors import machine_probe as probes
from hw.errors import Failure
from hw.extras import needed, python

__all__ = ["check_nodes", "check_ray", "joined"]

#: Seconds for a connection, and for joining.
_CONNECT_S, _JOIN_S, _PROBE_S = 3.0, 20.0, 60.0
#: What Ray says if a token is wrong or missing.
_TOKEN = ("InvalidAuthToken", "Unauthenticated", "authentication", "Authentication")
#: This project's package of the host, as it is installed here, and its distribution.
_PACKAGE, _NAME = __name__.rpartition(".actors")[0], "rlfabric"


def check_ray():
    """MissingTool without Ray, which this process does not import: Ray changes its signals."""
    if importlib.util.find_spec("ray") is None:
        needed("ray", "actors", "for actors")


def joined(address):
    """What ``host.actors.cluster_resources`` finds at ``address``, HOST:PORT: ``free``, CPUs that
    are free, and ``nodes``, address -> its CPUs. Failure, which says why, if nothing answers there
    or if it does not let this process join within 20 seconds; MissingTool without Ray."""
    check_ray()
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
    except OSError as error:
        raise Failure(
            f"actors must be the address of a running cluster, not {address!r} (nothing answers "
            f"there within {_CONNECT_S:.0f} s: {error})"
        ) from error
    program = Path(__file__).with_name("cluster_resources.py").read_text(encoding="utf-8")
    command = python(program, address)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_JOIN_S)
        said, failed = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired as late:
        said = "".join(
            part.decode(errors="replace") if isinstance(part, bytes) else part or ""
            for part in (late.stdout, late.stderr)
        )
        failed = f"no answer within {_JOIN_S:.0f} s"
    if not failed:
        return json.loads(done.stdout.strip().splitlines()[-1])
    if any(word in said for word in _TOKEN):
        raise Failure(
            f"the cluster at {address} refuses this token (RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH, "
            "as on its head)"
        )
    if "Version mismatch" in said:
        there = " ".join(said.partition("Version mismatch")[2].split())[:300]
        raise Failure(f"the cluster at {address} must have ray and Python as this process{there}")
    last = [line for line in said.strip().splitlines() if line.strip()][-1:]
    raise Failure(
        f"the cluster at {address} must let this process join ({failed}: {' '.join(last)})"
    )


def check_nodes(ray):
    """Failure unless every machine of the cluster that ``ray`` has joined has this project with the
    same version, form and sources, and the same Python and NumPy."""
    ray.cloudpickle.register_pickle_by_value(probes)
    try:
        remote = ray.remote(num_cpus=0)(probes.probe)
        nodes = [node for node in ray.nodes() if node["Alive"]]
        asked = [
            remote.options(scheduling_strategy=_at(ray, node["NodeID"])).remote(_PACKAGE, _NAME)
            for node in nodes
        ]
        ready, late = ray.wait(asked, num_returns=len(asked), timeout=_PROBE_S)
        if late:
            name = nodes[asked.index(late[0])]["NodeManagerAddress"]
            raise Failure(f"node {name} must answer within {_PROBE_S:.0f} s, not be silent")
        found = ray.get(asked)
    finally:
        ray.cloudpickle.unregister_pickle_by_value(probes)
    here = probes.probe(_PACKAGE, _NAME)
    for node, there in zip(nodes, found, strict=True):
        _compare(node["NodeManagerAddress"], there, here)


def _at(ray, node):
    strategies = ray.util.scheduling_strategies
    return strategies.NodeAffinitySchedulingStrategy(node, soft=False)


def _compare(name, there, here):
    if "missing" in there:
        raise Failure(f"node {name} must have rlfabric installed ({there['missing']})")
    if there == here:
        return
    raise Failure(
        f"node {name} has {_words(there)}, this process {_words(here)}: they must be the same"
    )


def _words(found):
    return (
        f"rlfabric {found['version']} as {found['form']} (digest {found['digest']}), Python "
        f"{found['python']}, numpy {found['numpy']}"
    )
