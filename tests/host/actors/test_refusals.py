"""What a user may get wrong about actors: one line each, before anything is started."""

import socket
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from host.actors import cluster, placement
from host.actors.cluster import joined
from host.actors.machine_probe import probe
from host.actors.placement import ActorOptions, actors_of, open_actors
from host.actors.ray_process import RayFailed
from host.cli.actor_options import acting
from host.runs.assembly import build
from host.runs.request import request
from hw.errors import Failure, MissingTool, UsageError


def test_actors():
    assert actors_of("1") == (1, None) and actors_of("256") == (256, None)
    assert actors_of("head:6379") == (None, "head:6379") and actors_of("[::1]:80") == (
        None,
        "[::1]:80",
    )
    for text in ("0", "-1", "two", "257", "", "1.5", ":80", "host:", "host:0", "host:65536", "٣"):
        with pytest.raises(UsageError, match="a number of actors, 1 to 256, or HOST:PORT .*, not"):
            actors_of(text)
    with pytest.raises(UsageError, match="(?s)not 'ray://h:10001': that is Ray's client"):
        actors_of("ray://h:10001")


def test_options(tmp_path):
    cases = [
        (dict(inline=True, address="h:1"), "inline must be without an address, not with 'h:1'"),
        (dict(ship=tmp_path), "ship must be with the address of a cluster"),
        (dict(ship=tmp_path / "none", address="h:1"), "ship must be a folder, not"),
        (dict(limit=0.0), "actor_limit must be above 0 seconds, not 0"),
        (dict(start=0.0), "actor_start must be above 0 seconds, not 0"),
        (dict(losses=-1), "actor_losses must be at least 0, not -1"),
    ]
    for options, text in cases:
        with pytest.raises(UsageError, match=text):
            ActorOptions(**options)


def test_options_of_the_command_line(monkeypatch):
    assert acting(None) == ({}, ActorOptions())
    assert acting("3") == ({"actors": 3}, ActorOptions())
    fields, options = acting("3", inline=True, limit=2.0, start=9.0, losses=1)
    assert fields == {"actors": 3, "actor_order": "fixed"}
    assert options == ActorOptions(inline=True, limit=2.0, start=9.0, losses=1)
    assert acting("3", fixed=True)[0] == {"actors": 3, "actor_order": "fixed"}
    assert acting("h:1", 4) == ({"actors": 4}, ActorOptions(address="h:1"))
    monkeypatch.setattr("host.cli.actor_options.joined", lambda address: {"free": 6.0})
    assert acting("h:1")[0] == {"actors": 5}
    monkeypatch.setattr("host.cli.actor_options.joined", lambda address: {"free": 1.0})
    assert acting("h:1")[0] == {"actors": 1}
    for name in ("fixed", "inline"):
        with pytest.raises(UsageError, match="must be with --actors, not without"):
            acting(None, **{name: True})
    with pytest.raises(UsageError, match="actor_count must be with the address"):
        acting("2", 2)


@pytest.mark.parametrize(
    ("algo", "settings", "text"),
    [
        ("dqn", dict(env_count=8, actors=3), r"env_count must be a multiple of 3 .actors., not 8"),
        ("ppo", dict(env_count=8, actors=3), r"env_count must be a multiple of 3 .actors., not 8"),
        ("a3c", dict(env_count=8, actors=3), "groups of all populations must be a multiple of 3"),
        ("dqn", dict(actors=257), "actors must be an integer in 0..256, not 257"),
        ("dqn", dict(actors=2, act="card"), "act must be cpu with actors, not 'card'"),
        ("dqn", dict(actor_order="fixed"), "actor_order must be free without actors"),
        ("dqn", dict(launches_per_message=2), "launches_per_message must be none without actors"),
        (
            "dqn",
            dict(actors=2, env_count=16, launches_per_message=65),
            r"launches_per_message must be an integer in 1..64 .4096 steps of a message., not 65",
        ),
        (
            "ddpg",
            dict(actors=2, learner="cpu", precision="qat", env="Pendulum-v1"),
            "precision must be float32 with actors and learner cpu, not 'qat'",
        ),
    ],
)
def test_configs(algo, settings, text):
    with pytest.raises(UsageError, match=text):
        request(algo, options={}, settings=settings)


def test_messages():
    own = dict(actors=2, steps_per_launch=1)

    def launches(size=1, **settings):
        return request("dqn", options={}, settings=own | settings)[0].message_launches(size)

    assert launches(env_count=8) == 8 and launches(env_count=8, steps_per_launch=4) == 2
    assert launches(env_count=128) == 1 and launches(env_count=4, launches_per_message=5) == 5
    assert launches(1 << 20, env_count=4) == 2, "8 MiB"
    assert launches(1 << 24, env_count=4) == 1


def test_the_default_of_act_gives_way():
    """DDPG on kernel fixar acts on the card by itself; actors choose their actions."""
    own = dict(design="fixar", env="Pendulum-v1")
    alone = request("ddpg", options={}, settings=own)[0]
    assert request("ddpg", options={}, settings=own | dict(actors="0"))[0] == alone
    assert request("ddpg", options={"actors": 2}, settings=own)[0].act == "cpu"
    with pytest.raises(UsageError, match="act must be cpu with actors"):
        request("ddpg", options={"actors": 2}, settings=own | dict(act="card"))
    assert not hasattr(request("ppo", options={"actors": 2}, settings={})[0], "act")


def test_actors_of_nobody():
    config, _ = request("dqn", options={}, settings=dict(actors=2))
    with pytest.raises(UsageError, match="actors must be 0 where nothing makes actors, not 2"):
        build(config, None)


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingTool, match=r"ray must be installed for actors .*\[actors\]"):
        with open_actors(1, ActorOptions()):
            pass


def test_more_than_the_cores(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1}, raising=False)
    with pytest.raises(UsageError, match="actors must be at most 8, 4 for each of 2 cores, not 9"):
        with open_actors(9, ActorOptions()):
            pass


def test_shared_memory(monkeypatch, tmp_path):
    usage = placement.shutil.disk_usage(tmp_path)._replace
    monkeypatch.setattr(placement, "_SHARED", tmp_path)
    monkeypatch.setattr(placement.shutil, "disk_usage", lambda _: usage(free=64 << 20))
    with pytest.raises(Failure, match="shared memory must have 160 MiB free, not 64: docker run"):
        with open_actors(1, ActorOptions()):
            pass
    monkeypatch.setattr(placement.shutil, "disk_usage", lambda _: usage(free=1 << 30))
    assert placement._store(2, 1000) == 80 << 20
    assert placement._store(2, 10 << 20) == 160 << 20
    assert placement._store(2, 1 << 30) == 512 << 20, "half of what is free"
    monkeypatch.setattr(placement, "_SHARED", tmp_path / "none")
    assert placement._store(2, 1 << 30) == 16 << 30


@pytest.mark.parametrize("failures", [1, 2])
def test_ray_is_started_twice_at_most(monkeypatch, capsys, failures):
    """A busy machine may be late once; the user's limit counts each time."""
    limits = []

    def started(plan, limit):
        limits.append(limit)
        if len(limits) <= failures:
            raise RayFailed("too late")
        return SimpleNamespace(close=lambda: None)

    monkeypatch.setattr(placement, "RayTransport", started)
    with pytest.raises(RayFailed) if failures == 2 else nullcontext():
        with open_actors(1, ActorOptions(start=7.0)) as actors:
            assert actors.start == 7.0
    assert limits == [7.0, 7.0]
    assert capsys.readouterr().err == "rlfabric: too late; it is started once more\n"


def test_nobody_is_there():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(Failure, match=f"running cluster, not '{address}' .nothing answers"):
        joined(address)


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("print('InvalidAuthToken'); exit(1)", "refuses this token .RAY_AUTH_TOKEN"),
        (
            "raise RuntimeError('Version mismatch: The cluster was started with: Ray: 2.55.1')",
            "must have ray and Python as this process: The cluster was started with: Ray: 2.55.1",
        ),
        ("import time; time.sleep(60)", "must let this process join .no answer within 1 s"),
        ("print('x\\nlast line'); exit(15)", r"must let this process join .15: last line"),
        ("print('Unauthenticated', flush=True); import time; time.sleep(60)", "refuses this token"),
    ],
)
def test_joining(monkeypatch, tmp_path, program, text):
    """What a cluster has to say, or that it says nothing."""
    (tmp_path / "cluster_resources.py").write_text(program)
    monkeypatch.setattr(cluster, "__file__", str(tmp_path / "cluster.py"))
    monkeypatch.setattr(cluster, "_JOIN_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        with pytest.raises(Failure, match=text):
            joined(f"127.0.0.1:{server.getsockname()[1]}")


def test_joined(monkeypatch, tmp_path):
    (tmp_path / "cluster_resources.py").write_text(
        "print('words')\nprint('{\"free\": 3, \"nodes\": {}}')"
    )
    monkeypatch.setattr(cluster, "__file__", str(tmp_path / "cluster.py"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = joined(f"127.0.0.1:{server.getsockname()[1]}")
    assert found == {"free": 3, "nodes": {}}


def test_machines():
    """They must have this project, and as it is here."""
    here = probe("host", "rlfabric")
    assert here["form"] == "a checkout" and len(here["digest"]) == 12 and here["version"]
    cluster._compare("n", dict(here), here)
    with pytest.raises(Failure, match="node n must have rlfabric installed .No module named 'nix'"):
        cluster._compare("n", probe("nix", "rlfabric"), here)
    with pytest.raises(Failure, match="No module named 'nix'"):
        cluster._compare("n", probe("nix.host", "rlfabric"), here)
    for name in ("form", "digest", "version", "python", "numpy"):
        with pytest.raises(Failure, match="node n has .*other.*, this process .*must be the same"):
            cluster._compare("n", here | {name: "other"}, here)


_PROBES = """
from host.actors import cluster, ray_session
with ray_session.ray_session(ray_session.RayPlan(1, store=80 << 20)) as ray:
    cluster.check_nodes(ray)
    print("as here")
    cluster._PACKAGE = "nix"
    try:
        cluster.check_nodes(ray)
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
"""


def test_probes():
    """Each machine is asked by code that travels with the question."""
    done = subprocess.run(
        [sys.executable, "-c", _PROBES], capture_output=True, text=True, timeout=240
    )
    as_here, failed = done.stdout.splitlines()
    assert as_here == "as here"
    assert failed.startswith("Failure: node 127.0.0.1 must have rlfabric installed")
