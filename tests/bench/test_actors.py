"""bench.actors with few messages: inline without Ray, in the long tests on Ray."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from bench import actors
from bench.actors import messages, processes, speed
from bench.actors.burning import BURNING
from host.actors.local_transport import InlineTransport
from host.actors.placement import ActorOptions
from host.environments.environment_id import find_spec

ROOT = Path(__file__).parents[2]
SLOW, FAST = speed.CASES


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(messages, "_CALLS", 3)
    monkeypatch.setattr(messages, "_FIRST", 1)
    monkeypatch.setattr(speed, "_ROUNDS", 1)
    monkeypatch.setattr("bench.actors.burning.STEP_S", 1e-5)
    few = {name: replace(case, messages=2) for name, case in speed.CASES.items()}
    monkeypatch.setattr(speed, "CASES", few)


def values(rows):
    return {(row["case"], row["metric"]): row["value"] for row in rows}


def test_rows(short, monkeypatch):
    monkeypatch.setattr(processes, "idle_share", lambda: 0.9)
    rows = actors.rows(options=ActorOptions(inline=True))
    found = values(rows)
    assert len(found) == len(rows) and {row["bench"] for row in rows} == {"actors"}
    for size in ("1 KB", "100 KB", "5 MB"):
        assert found[size, "message_us"] > 0 and found[size, "driver_us"] >= 0
    for run in ("1 actor", "2 actors", "1 actor, inline"):
        assert found[f"{SLOW}, {run}", "steps_per_second"] > 0
        assert 0 <= found[f"{SLOW}, {run}", "idle_share"] <= 100
    assert found["Ray", "start_s"] >= 0 and found["actors", "start_s"] > 0
    assert found["all processes", "pss_mb"] >= found["the run's own process", "pss_mb"] > 0
    bars = {(row["case"], row["metric"]): (row["reference"], row["reference_value"])
            for row in rows if row["reference"]}  # fmt: skip
    assert bars == {
        (SLOW, "two_over_one"): ("at least", 1.6),
        (SLOW, "message_overhead"): ("at most", 5),
        (FAST, "message_overhead"): ("at most", 20),
    }


def test_no_speed_on_cores_that_are_not_quiet(short, monkeypatch, capsys):
    shares = iter([0.2, 0.3, 0.5, 0.7, 0.899, 0.1, 0.1, 0.1, 0.1, 0.1])
    monkeypatch.setattr(processes, "idle_share", lambda: next(shares))
    monkeypatch.setattr(speed, "_speed", None)
    rows = speed.rows(speed.Actors(transport=InlineTransport()))
    assert {row["value"] for row in rows} == {"not quiet"} and len(rows) == 6 + 2 + 4 + 1
    assert capsys.readouterr().err.splitlines() == [
        "not quiet: the cores are idle 89.9 % of the time, not 90 %",
        "not quiet: the cores are idle 10.0 % of the time, not 90 %",
    ]


def test_wall_times_on_cores_that_are_not_quiet(short, monkeypatch):
    """Memory and processor time are what they are."""
    monkeypatch.setattr(processes, "idle_share", lambda: 0.5)
    rows = actors.rows(options=ActorOptions(inline=True))
    walls = {row["metric"] for row in rows if row["value"] == "not quiet"}
    assert walls == {"start_s", "message_us", "steps_per_second", "idle_share", "two_over_one",
                     "message_overhead"}  # fmt: skip
    measured = {row["metric"] for row in rows if row["value"] != "not quiet"}
    assert measured == {"pss_mb", "driver_us"}


def test_cores_may_become_quiet(monkeypatch):
    shares = iter([0.2, 0.95])
    monkeypatch.setattr(processes, "idle_share", lambda: next(shares))
    assert processes.quiet() and not list(shares)


def test_ratio_and_overhead_are_of_runs_side_by_side():
    """The machine was slower in the third round, for all of them."""
    found = {
        "1 actor": [(100.0, 0.5), (80.0, 0.1), (10.0, 0.2)],
        "2 actors": [(180.0, 0.0), (160.0, 0.2), (19.0, 0.1)],
        "1 actor, inline": [(120.0, 0.0), (88.0, 0.0), (12.0, 0.0)],
    }
    rows = values(speed._rows("a", speed.CASES[SLOW], found))
    assert rows["a", "two_over_one"] == 1.9 and rows["a", "message_overhead"] == 20
    assert rows["a, 1 actor", "steps_per_second"] == 80
    assert rows["a, 1 actor", "idle_share"] == 20


@pytest.mark.parametrize("steps, count", [(64, 1), (64, 2), (256, 1)])
def test_messages_have_their_steps(steps, count):
    config = speed.config_of("CartPole-v1", steps, count)
    with speed.acting(config, speed.Actors(transport=InlineTransport())) as run:
        run.take(1)
        assert run.clock.steps == steps and run.clock.updates == steps // 32
        assert len(run.pool) == count
        assert run.pool.waits, "the next requests are under way"


def test_a_message_has_its_size():
    sent = [messages.Sender().send(size).bytes for size in messages.SIZES.values()]
    assert sent == [1000, 100_000, 5_000_000] and messages.LARGEST == 5_000_000


def test_without_ray_there_are_no_rows(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert actors.rows() == []
    assert "actors are left out: ray must be installed" in capsys.readouterr().err


def test_a_burning_step_takes_a_millisecond():
    env = gymnasium.make(find_spec(BURNING), disable_env_checker=True)
    first, _ = env.reset(seed=0)
    began, ends = time.thread_time(), []
    for _ in range(200):
        obs, reward, terminated, truncated, _ = env.step(0)
        ends.append(terminated or truncated)
    assert 0.2 <= time.thread_time() - began < 0.4
    assert env.observation_space.contains(obs) and (obs == 1).all() and not first.any()
    assert reward == 1 and ends.index(True) == 199 and not terminated


def test_idle_share(tmp_path, monkeypatch):
    """Of the cores that this process may use; waiting for a disk is idle, too."""
    monkeypatch.setattr(processes, "_PROC", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 11})

    def write(*cores):
        lines = ["cpu  1 1 1 1 1 1 1 1 0 0", *cores, "intr 1"]
        (tmp_path / "stat").write_text("\n".join(lines))

    write("cpu0 10 0 10 100 0 0 0 0 9 0", "cpu1 5 0 0 0 0 0 0 0 0 0", "cpu11 0 0 0 0 0 0 0 0 0 0")

    def sleep(seconds):
        assert seconds == 2
        write(
            "cpu0 20 5 15 140 30 5 3 2 19 0",  # 100 ticks, 70 of them idle
            "cpu1 5 0 0 900 0 0 0 0 0 0",
            "cpu11 90 0 0 10 0 0 0 0 0 0",  # 100 ticks, 10 idle
        )

    monkeypatch.setattr(processes.time, "sleep", sleep)
    assert processes.idle_share(2) == 0.4


def test_memory_is_that_of_all_that_was_started(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_PROC", tmp_path)
    here = os.getpid()

    def process(pid, parent, name, kib):
        folder = tmp_path / str(pid)
        folder.mkdir()
        (folder / "stat").write_text(f"{pid} (a) b) S {parent} 1 1 0")
        (folder / "cmdline").write_text(name)
        if kib is not None:
            (folder / "smaps_rollup").write_text(f"0-1 [rollup]\nRss: 999 kB\nPss: {kib} kB\n")

    process(here, 1, "python\0-m\0bench", 1)
    process(7000001, here, "raylet", 10)
    process(7000002, 7000001, "ray::CollectingWorker", 100)
    process(7000003, 7000001, "ray::CollectingWorker.collect", 300)
    process(7000004, 7000001, "ray::IDLE", 1000)
    process(7000005, 7000001, "ended", None)
    process(7000006, 1, "another's", 10000)
    (tmp_path / "7000007").mkdir()
    assert processes.memory() == {
        "all processes": 1411 << 10,
        "the run's own process": 1 << 10,
        "an actor, mean": 200 << 10,
    }


PROGRAM = """
import json
from dataclasses import replace
from bench import actors
from bench.actors import messages, processes, speed
messages._CALLS, speed._ROUNDS, processes.idle_share = 20, 1, lambda: 1.0
speed.CASES = {name: replace(case, messages=4) for name, case in speed.CASES.items()}
print(json.dumps(actors.rows()))
"""


@pytest.mark.long
def test_rows_on_ray():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=ROOT, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = values(json.loads(done.stdout.splitlines()[-1]))
    assert np.isfinite(list(found.values())).all()
    # At most one step a millisecond, but for the clock's grain.
    assert 0 < found[f"{SLOW}, 1 actor", "steps_per_second"] < 1010
    assert found["an actor, mean", "pss_mb"] > 20
    assert found["5 MB", "message_us"] > found["1 KB", "message_us"] > 0
