"""Minutes: two machines of a cluster, what a killed run leaves, memory, learning."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from bench.actors.processes import pss, started

pytestmark = pytest.mark.long

#: Environment of a process of its own; what this one has set for Ray is not its.
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
CLEAN |= {"PYTHONPATH": ".:tests"}

_CLUSTER = """
import json, os, signal, sys, threading, time
os.environ |= {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": "0" * 64,
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_initial_delay_ms": "1000",
}
import ray
from ray.cluster_utils import Cluster

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
second = cluster.add_node(num_cpus=3)
print(cluster.address, flush=True)
sys.stdin.readline()
os.kill(second.all_processes["raylet"][0].process.pid, signal.SIGKILL)
print("killed", flush=True)
sys.stdin.readline()
cluster.shutdown()
"""


def losses(out):
    path = out / "actors.csv"
    return list(csv.DictReader(path.open())) if path.exists() else []


def wait_for(what, seconds):
    """The first true value of ``what()``."""
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until, f"within {seconds} s"
        time.sleep(0.2)
    return found


def command(out, *more):
    words = [
        sys.executable,
        "-m",
        "rlfabric",
        "train",
        "dqn",
        "--learner",
        "cpu",
        "--memory",
        "tree",
    ]
    words += ["--set", "hidden=8", "--set", "checkpoint_interval_s=2", "--out", str(out)]
    return [*words, *more]


def rows(out):
    path = out / "progress.csv"
    return list(csv.DictReader(path.open())) if path.exists() else []


def test_two_nodes(tmp_path):
    """An actor is killed, then a node: the run ends well, and both are in actors.csv."""
    told = dict(env=CLEAN, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    cluster = subprocess.Popen([sys.executable, "-c", _CLUSTER], **told)
    run = None
    try:
        address = cluster.stdout.readline().strip()
        out = tmp_path / "run"
        words = command(out, "--actors", address, "--actor-count", "2", "--steps", "1e9")
        words += ["--set", "env_count=4"]
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}
        token |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
        run = subprocess.Popen(words, env=CLEAN | token, text=True, stderr=subprocess.PIPE)
        wait_for(lambda: rows(out), 120)
        actors = subprocess.run(["pgrep", "-f", "ray::CollectingWorker"], capture_output=True)
        pids = [int(word) for word in actors.stdout.split()]
        assert len(pids) == 2
        os.kill(pids[0], signal.SIGKILL)
        [first] = wait_for(lambda: losses(out), 20)
        assert first["kind"] == "killed"
        time.sleep(5)
        began = time.monotonic()
        cluster.stdin.write("\n")
        cluster.stdin.flush()
        found = wait_for(lambda: losses(out)[1:], 40)
        assert time.monotonic() - began < 20 and found[0]["kind"] in ("node", "killed")
        after = len(rows(out))
        wait_for(lambda: len(rows(out)) > after + 2, 60)
        run.send_signal(signal.SIGINT)
        assert run.wait(60) == 130
    finally:
        if run is not None:
            run.kill()
        cluster.communicate("\n\n", timeout=60)  # it ends what it has started


def test_a_killed_run_leaves_nothing(tmp_path):
    """No actor after 5 seconds, nothing after 90; the run goes on from its checkpoint."""
    run = subprocess.Popen(command(tmp_path, "--actors", "2", "--steps", "1e9"), env=CLEAN)
    try:
        wait_for(lambda: (tmp_path / "checkpoint.npz").exists(), 180)
        children = started(run.pid)
        del children[run.pid]
        assert any("CollectingWorker" in text for text in children.values())
        run.kill()
        run.wait(10)
        wait_for(lambda: not any("CollectingWorker" in text for text in _alive(children)), 10)
        wait_for(lambda: not _alive(children), 90)
    finally:
        run.kill()
    done = subprocess.run(
        command(tmp_path, "--actors", "2", "--steps", "1e3", "--resume"), env=CLEAN, timeout=300
    )
    assert done.returncode == 0


def _alive(processes):
    """Commands of those that are there still."""
    return [text for pid, text in processes.items() if text and started(pid).get(pid) == text]


def test_memory_stays(tmp_path):
    """10^6 steps: after the first tenth the run's proportional memory has no higher peak. It falls
    and rises by a tenth, since Ray frees what was received in batches."""
    words = command(tmp_path, "--actors", "2", "--steps", "1e6")
    words += "--set env_count=64 --set steps_per_launch=16 --set launches_per_message=1".split()
    words += "--set evaluation_interval_steps=1000000 --set capacity=4096".split()
    # A checkpoint has a copy of all, for as long as it is written.
    words += "--set checkpoint_interval_s=1e6 --set checkpoint_interval_steps=2000000".split()
    run, seen = subprocess.Popen(words, env=CLEAN), []
    try:
        while run.poll() is None:
            time.sleep(1)
            size, found = pss(run.pid), rows(tmp_path)
            if found and size:
                seen.append((int(found[-1]["steps"]), size))
    finally:
        run.kill()
    assert run.returncode == 0
    # At the end there are an evaluation and a checkpoint.
    early, late = (
        [size for steps, size in seen if low < steps < high]
        for low, high in ((100_000, 500_000), (500_000, 980_000))
    )
    assert min(len(early), len(late)) > 5 and max(late) <= 1.05 * max(early)


@pytest.mark.timeout(1800)
def test_learns(tmp_path):
    """CartPole with four actors that run freely: three seeds of three are solved."""
    for seed in range(3):
        out = tmp_path / str(seed)
        words = [sys.executable, "-m", "rlfabric", "train", "dqn", "--actors", "4"]
        words += ["--seed", str(seed), "--until-solved", "--out", str(out)]
        assert subprocess.run(words, env=CLEAN, timeout=900).returncode == 0
        summary = json.loads((out / "summary.json").read_text())
        stale = [float(row["staleness"]) for row in rows(out) if row["staleness"]]
        print(seed, summary["steps"], summary["updates"], sum(stale) / len(stale))
        assert summary["solved"] and summary["actor_losses"] == 0
