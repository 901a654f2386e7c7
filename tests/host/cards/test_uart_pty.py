"""Training through a serial line: the Verilated board behind a pseudo-terminal and card `model`."""

import csv
import json
import os
import re
import select
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from children import share_compiled
from uart.systems import KERNEL, folder

from host.kernels import package
from host.phases import PHASES

ROOT = Path(__file__).parents[3]
#: Seconds in which the board must be compiled and at its pseudo-terminal.
START_S = 300
#: What in log and checkpoint depends on the machine, or on a clock that twins do not have.
MACHINE = ("seconds", "phases", "device_cycles", *(f"seconds_{name}" for name in PHASES))


def environment(build):
    """The kernel of a real card is looked for below ``build``, by board and design."""
    share_compiled(build)
    return {**os.environ, "RLFABRIC_BUILD": str(build), "PYTHONPATH": str(ROOT)}


@contextmanager
def board(place, *options):
    """Path of the pseudo-terminal of the running board in the folder ``place``."""
    # The Verilated library stays where all tests keep theirs.
    command = [sys.executable, "-m", "rlfabric.sim.uart", str(place), *options]
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


def train(card, build, out, words, timeout_s):
    """``rlfabric train dqn`` with ``words`` on ``card``: its log, its arrays, its summary."""
    command = [sys.executable, "-m", "rlfabric", "train", "dqn", "--board", "ulx3s", *words]
    done = subprocess.run(
        [*command, "--card", card, "--out", str(out)],
        cwd=ROOT, env=environment(build), capture_output=True, text=True, timeout=timeout_s,
    )  # fmt: skip
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


def compare(place, tmp_path, words, timeout_s, *, model=(), options=()):
    """The log and the summary of a run on the board in the folder ``place``, which is served with
    ``options``; log and arrays are those of card ``model`` with the words ``model`` in addition."""
    build = place.parents[1]
    with board(place, *options) as path:
        rows, arrays, summary = train(f"uart:{path}", build, tmp_path / "uart", words, timeout_s)
    expected_rows, expected, _ = train(
        "model", build, tmp_path / "model", [*words, *model], timeout_s
    )
    assert rows == expected_rows
    assert arrays.keys() == expected.keys() and len(arrays) > 5
    for name, data in arrays.items():
        assert np.array_equal(data, expected[name]), name
    return rows, summary


def compare_replay(tmp_path, launches, timeout_s):
    words = "--learner cpu --seed 5 --set capacity=256 --set learning_starts=32".split()
    words += "--set batch_size=16 --set hidden=16,16 --set evaluation_episodes=1".split()
    words += ["--set", f"evaluation_interval_steps={8 * launches}"]
    words += ["--set", "log_interval_steps=40", "--steps", str(8 * launches)]
    fanout = "--set", f"kernel.fanout={KERNEL.replay.fanout}"
    rows, summary = compare(folder(), tmp_path, words, timeout_s, model=fanout)
    assert int(rows[-1]["launches"]) >= launches and summary["device_cycles"] > 100 * launches


@pytest.mark.long
def test_training_through_a_serial_line(tmp_path):
    """Log, weights, experiences and priorities are those of the model after 20 launches."""
    compare_replay(tmp_path, 20, 120)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_long_training_through_a_serial_line(tmp_path):
    """The same after 520: the ring has wrapped, and the policy has learned from it."""
    compare_replay(tmp_path, 520, 1800)


@pytest.fixture(scope="module")
def learner(tmp_path_factory):
    """The folder of the default ``dqn`` of a ULX3S, as `rlfabric bitstream` writes it."""
    return package("dqn", "ulx3s", tmp_path_factory.mktemp("build"))


def compare_learner(learner, tmp_path, words, timeout_s):
    """A run with the fields of the README beside the bitstream."""
    (fields,) = re.findall(r"^`rlfabric train dqn (.*) --board ulx3s --card \S+ (.*)`$",
                           (learner / "README.md").read_text(), re.M)  # fmt: skip
    words = [*" ".join(fields).split(), "--seed", "0", *words]
    # Fewer clocks a bit than the 15 of the board: most of the simulated time is the line's.
    options = "--bit-clocks", "4"
    return compare(learner, tmp_path, words, timeout_s, options=options)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_learner_behind_a_serial_line(learner, tmp_path):
    """The whole default board: log, parameters, moments, experiences and priorities are those of
    the model after 20 launches, 14 of which learned."""
    words = "--steps 640 --set learning_starts=128 --set evaluation_episodes=1".split()
    words += ["--set", "log_interval_steps=160"]
    _, summary = compare_learner(learner, tmp_path, words, 1800)
    assert summary["updates"] == 14 and summary["device_cycles"] > 14 * 35_000


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_a_learner_behind_a_serial_line_solves_cartpole(learner, tmp_path):
    """Judged in gymnasium, with the weights that the board has sent."""
    words = "--steps", "30000", "--until-solved"
    _, summary = compare_learner(learner, tmp_path, words, 3600)
    assert summary["solved"] and summary["mean_return"] >= 475
