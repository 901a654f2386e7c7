"""Training through a serial line: the Verilated board behind a pseudo-terminal and card `model`."""

import csv
import json
import os
import select
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from children import share_compiled
from uart.systems import KERNEL, folder

from host.phases import PHASES

ROOT = Path(__file__).parents[3]
#: Seconds in which the board must be compiled and at its pseudo-terminal.
START_S = 300
#: What in log and checkpoint depends on the machine, or on a clock that twins do not have.
MACHINE = ("seconds", "phases", "device_cycles", *(f"seconds_{name}" for name in PHASES))


def environment():
    """The kernel of a real card is looked for below the build directory, by board and design."""
    share_compiled(folder().parents[1])
    return {**os.environ, "RLFABRIC_BUILD": str(folder().parents[1]), "PYTHONPATH": str(ROOT)}


@contextmanager
def board():
    """Path of the pseudo-terminal of a running board."""
    # The Verilated library stays where all tests keep theirs.
    command = [sys.executable, "-m", "sim.uart", str(folder())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as process:
        try:
            readable, _, _ = select.select([process.stdout], [], [], START_S)
            assert readable, f"the board must be there within {START_S} s"
            path = process.stdout.readline().strip()
            assert path.startswith("/dev/"), process.poll()
            yield path
            assert process.poll() is None, "the board must run until it is stopped"
        finally:
            process.terminate()


def train(card, out, launches, timeout_s):
    """``rlfabric train dqn`` on ``card``: its log, its arrays, its summary."""
    settings = dict(capacity=256, learning_starts=32, batch_size=16, hidden="16,16")
    settings |= dict(
        evaluation_interval_steps=8 * launches, evaluation_episodes=1, log_interval_steps=40
    )
    if card == "model":
        settings["kernel.fanout"] = KERNEL.replay.fanout
    command = [sys.executable, "-m", "rlfabric", "train", "dqn", "--learner", "cpu"]
    command += ["--board", "ulx3s", "--card", card, "--steps", str(8 * launches)]
    command += ["--seed", "5", "--out", str(out)]
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=timeout_s
    )
    assert done.returncode == 0, done.stderr
    with (out / "progress.csv").open() as file:
        rows = [{k: v for k, v in row.items() if k not in MACHINE} for row in csv.DictReader(file)]
    with np.load(out / "checkpoint.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays["tree"] = without_machine(json.loads(arrays["tree"].tobytes()))
    return rows, arrays, json.loads((out / "summary.json").read_text())


def without_machine(tree):
    """Nested dicts without what depends on the machine."""
    if not isinstance(tree, dict):
        return tree
    return {name: without_machine(value) for name, value in tree.items() if name not in MACHINE}


def compare(tmp_path, launches, timeout_s):
    with board() as path:
        rows, arrays, summary = train(f"uart:{path}", tmp_path / "uart", launches, timeout_s)
    expected_rows, expected, _ = train("model", tmp_path / "model", launches, timeout_s)
    assert int(rows[-1]["launches"]) >= launches and summary["device_cycles"] > 100 * launches
    assert rows == expected_rows
    assert arrays.keys() == expected.keys() and len(arrays) > 5
    for name, data in arrays.items():
        assert np.array_equal(data, expected[name]), name


@pytest.mark.long
def test_training_through_a_serial_line(tmp_path):
    """Log, weights, experiences and priorities are those of the model after 20 launches."""
    compare(tmp_path, 20, 120)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_long_training_through_a_serial_line(tmp_path):
    """The same after 520: the ring has wrapped, and the policy has learned from it."""
    compare(tmp_path, 520, 1800)
