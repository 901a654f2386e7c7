"""What READMEs tell to do, and the smoke test beside them, as they are done."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import boards
from boards.templates import training
from host.commands.options import options
from host.generate import describe, override, package
from host.train.preset import preset
from tests.boards.vendor import described, small


def test_what_is_known_of_a_kernel_goes_into_its_files(tmp_path):
    """The area that a report found, and the memory that was asked for; smoke.py runs."""
    folder = describe("replay", "u50", tmp_path, **small("replay")).resolve()
    known = json.loads((folder / "kernel.json").read_text())["config_hash"]
    area = {"lut": 30_000, "ff": 20_000, "bram36": 20, "uram": 0, "dsp": 40}
    report = {"config_hash": f"{known:#018x}", "kernel": area}
    (folder / "report.json").write_text(json.dumps(report))
    assert package("replay", "u50", tmp_path, storage_bytes=1 << 30, **small("replay")) == folder
    link = (folder / "link.cfg").read_text()
    assert "storage:HBM[1:4].1.RAMA\n" in link and "slr=replay_1:SLR0\n" in link
    result = subprocess.run(
        [sys.executable, folder / "smoke.py", "model"],
        env={**os.environ, "PYTHONPATH": str(Path(boards.__file__).parent.parent)},
        cwd=tmp_path, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert re.search(r"^loaded in [\d.]+ s; 20 launches, [\d.]+ ms each$", result.stdout), result


@pytest.mark.parametrize(
    "design, algo, learner",
    [("replay", "dqn", "cpu"), ("dqn", "dqn", "card"), ("ddpg", "ddpg", "card"),
     ("gae", "ppo", "cpu")],
)  # fmt: skip
def test_training_that_a_readme_names(design, algo, learner):
    """Its options are a run's, and ask for what the kernel has."""
    settings = {} if design == "gae" else {"capacity": 4096}
    description = described(design, "u50", **{**small(design), **settings})
    words = training(description, boards.get("u50"), "xrt").split()
    named = ["--learner", learner] if algo != "ppo" else []
    where = ["--board", "u50", "--card", "xrt"]
    assert words[: 7 + len(named)] == ["rlfabric", "train", algo, *named, *where]
    values = [value for word, value in pairwise(words) if word == "--set"]
    config, kernel = override(preset(algo, learner), options(values)), description.config
    if design == "gae":
        widths = (kernel["gae"]["code_width"], kernel["gae"]["result_width"])
        assert (config.agent.code_width, config.agent.result_width) == widths == (8, 8)
    else:
        assert config.capacity == kernel["replay"]["capacity"] == 4096
    if learner == "card":
        assert config.agent.hidden == kernel["learner"]["hidden"] == (8,)


def test_no_training_of_a_design_without_a_host():
    description = replace(described("replay", "u50"), name="adder")
    assert training(description, boards.get("u50"), "xrt") is None
