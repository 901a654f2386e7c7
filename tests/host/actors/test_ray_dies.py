"""Minutes: Ray's processes are killed under a run, at any time. The run says so in a line, keeps a
checkpoint, ends with exit code 1, and goes on with --resume; after an actor it just goes on."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from bench.actors.processes import started
from host import checkpoint

pytestmark = [pytest.mark.long, pytest.mark.timeout(3000)]

#: victim -> what its command has
VICTIMS = {
    "raylet": "raylet/raylet",
    "agent": "ray::RuntimeEnvAgent",
    "gcs": "gcs_server",
    "actor": "ingWorker",  # ray::CollectingWorker, ray::SteppingWorker
}
#: Seconds for each part of a case: Ray takes minutes to start where many processes run.
_LIMIT_S = 600
_SMALL = ["--set", "hidden=8", "--actors", "2", "--actor-start", "300", "--env", "CartPole-v1"]
ALGORITHMS = {
    "dqn": ["--learner", "cpu", "--memory", "tree", "--set", "learning_starts=64", "--set",
            "batch_size=16"],
    "ppo": ["--set", "steps_per_launch=64", "--set", "env_count=4"],
    "a3c": ["--learner", "cpu", "--set", "env_count=8", "--set", "group=2"],
}  # fmt: skip
#: moment -> settings, and the text of the run that tells that it has come; "": actors are made
MOMENTS = {
    "start": (["evaluation_interval_steps=100000"], ""),
    "collection": (["evaluation_interval_steps=100000"], "step "),
    "evaluation": (["evaluation_interval_steps=200", "evaluation_episodes=4000"], "of 4000 episo"),
}
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
CLEAN |= {"PYTHONPATH": ".:tests"}


def command(algorithm, out, *more):
    words = ["-m", "rlfabric", "train", algorithm, *_SMALL, *ALGORITHMS[algorithm]]
    return [sys.executable, *words, "--out", str(out), *more]


def wait_for(what, seconds, run):
    """The first true value of ``what()``, while the run goes on."""
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until and run.poll() is None, f"within {seconds} s"
        time.sleep(0.1)  # a look at all processes takes time, too
    return found


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_killed(tmp_path, algorithm, victim, moment):
    settings, text = MOMENTS[moment]
    more = [word for each in settings for word in ("--set", each)]
    out, said = tmp_path / "run", tmp_path / "said"
    with said.open("w") as file:
        told = dict(env=CLEAN, stdout=file, stderr=file)
        run = subprocess.Popen(command(algorithm, out, "--steps", "1e9", *more), **told)
    try:
        wait_for(lambda: victims(run, "actor") and text in said.read_text(), _LIMIT_S, run)
        losses = out / "actors.csv"
        before = losses.read_text() if losses.exists() else ""
        pid = victims(run, victim)[0]
        os.kill(pid, signal.SIGKILL)
        if victim == "actor":
            wait_for(lambda: losses.exists() and losses.read_text() != before, _LIMIT_S, run)
            assert f"pid {pid}" in losses.read_text() or moment == "start"
            run.send_signal(signal.SIGINT)
            assert run.wait(_LIMIT_S) == 130
        else:
            assert run.wait(_LIMIT_S) == 1
            last = said.read_text().splitlines()[-1]
            assert last.startswith("rlfabric: Ray must ") and "--resume goes on from step" in last
            assert "Traceback" not in said.read_text()
    finally:
        run.kill()
    assert (out / "checkpoint.npz").exists(), said.read_text()
    short = command(algorithm, out, "--steps", str(steps_of(out) + 500), "--resume", *more)
    if moment == "evaluation":  # of 4000 episodes, one step each
        short += ["--set", "evaluation_steps=1"]
    done = subprocess.run(short, env=CLEAN, capture_output=True, text=True, timeout=_LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((out / "summary.json").read_text())
    assert summary["steps"] >= 500 and not summary["interrupted"]
    with losses.open() as file:
        assert [row["kind"] for row in csv.DictReader(file)][0] in ("ray", "killed")


def victims(run, victim):
    """Processes that the run's own has started, at whatever depth."""
    return [pid for pid, text in started(run.pid).items() if VICTIMS[victim] in text]


def steps_of(out):
    return int(checkpoint.load(out / "checkpoint.npz", "training")[1]["session"]["steps"])
