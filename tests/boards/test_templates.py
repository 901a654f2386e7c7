"""What READMEs tell to do, and the smoke test beside them, as they are done."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

import boards
from boards import bitstream
from boards.templates import training
from host.environments.spec import Spec
from host.kernels import describe, override, package
from host.runs.request import request
from host.settings import fields_of, leaves, resolve
from hw.designs import DESIGNS
from tests.boards.vendor import described, not_public, small


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


@pytest.mark.parametrize("board", boards.BOARDS)
def test_they_import_what_is_public(board):
    """Every file, of every design: ``smoke.py`` imported ``host``, which a wheel does not have."""
    seen, found = 0, boards.get(board)
    # An ULX3S's files have the board's netlist, which takes seconds.
    designs = [*DESIGNS] if found.flow != "nextpnr" else ["gae"]
    for design in designs:
        config = override(DESIGNS[design].default(found.numbers), small(design))
        texts = bitstream.files(DESIGNS[design].describe(config), found)
        assert [each for file, text in texts.items() for each in not_public(file, text)] == []
        seen += sum(file.endswith(".py") and "import" in text for file, text in texts.items())
    assert seen >= len(designs)


def test_a_module_runs_by_its_public_name():
    """The README of an ULX3S has it; a checkout has only another name for it."""
    words = [sys.executable, "-m", "rlfabric.sim.uart", "--help"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("usage: python -m rlfabric.sim.uart"), done.stderr
    for name in ("rlfabric.sim.uart.__main__", "rlfabric.hw.designs"):  # sys.argv[0] comes from it
        place = Path(*name.split(".")[1:]).with_suffix(".py")
        assert Path(find_spec(name).origin).parts[-len(place.parts) :] == place.parts


@pytest.mark.parametrize("name, text", [
    ("a.py", "import host.cards"), ("a.py", "from boards import get"), ("a.py", "import torch"),
    ("a.py", "from rlfabric import bords"), ("a.py", "from rlfabric.host.cards import open_card"),
    ("a.py", "from rlfabric import training as rl\nrl.Sed(1)"),
    ("a.py", "import rlfabric\nrlfabric.opencard()"), ("README.md", "`python -m sim.uart .`"),
    ("a.py", "def run():\n    import sim"),
])  # fmt: skip
def test_what_is_not_public_is_found(name, text):
    assert list(not_public(name, text))


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("storage_bytes", [None, 1 << 30])
def test_a_readme_says_what_its_own_link_cfg_says(design, storage_bytes):
    """RAMA only where banks are joined, and a die only where there is one."""
    for name, board in boards.BOARDS.items():
        if board.flow != "vitis" or (storage_bytes and not board.joins):
            continue
        description = described(design, name, **small(design))
        for area in (None, {"lut": 9, "ff": 9, "bram36": 9, "uram": 9, "dsp": 9}):
            texts = bitstream.files(description, board, mapped=area, storage_bytes=storage_bytes)
            link, readme = texts["link.cfg"], " ".join(texts["README.md"].split())
            banks = re.findall(r"^sp=\w+\.(\w+):(\S+)$", link, re.M)
            assert all(f"`{bank}` |" in readme for _, bank in banks)
            assert ("asks for here" in readme) == (".RAMA" in link)
            assert ("here it joins none" in readme) == (board.joins and ".RAMA" not in link)
            assert ("and die (SLR)" in readme) == ("slr=" in link)
            assert ("is kept in SLR" in readme) == ("slr=" in link)


#: Designs with a replay memory: one of a few dozen experiences is too small to begin to learn from.
LEARNS = ("replay", "dqn", "ddpg", "fixar")


#: What an environment of a kernel shows and takes, where the design asks for one.
def spec_of(description):
    config = description.config
    if description.name == "a3c":
        pixels = config["height"], config["width"], config["channels"]
        vector = config["height"] == config["width"] == 1
        return Spec(
            shape=pixels[2:] if vector else pixels,
            dtype="float32" if config["binary32"] else "uint8",
            exponent=0 if config["binary32"] else config["input_exponent"],
            action_count=config["outputs"] - 1,
            discrete=True,
        )
    learner = config.get("learner", {"observation": 4, "action": 2})
    return Spec(
        shape=(learner["observation"],),
        dtype="float32",
        action_count=learner["action"],
        discrete=description.name in ("dqn", "replay", "gae"),
    )


def run_of(command, board):
    """The config of the run that a command line asks for."""
    options, settings, words = {}, [], command.split()
    assert words[:2] == ["rlfabric", "train"]
    for option, value in zip(words[3::2], words[4::2], strict=True):
        if option == "--set":
            settings.append(value)
        else:
            options[option.removeprefix("--")] = value
    assert options.pop("board") == board and options.pop("card") == "xrt"
    config, kernel = request(words[2], options=options, settings=fields_of(settings))
    assert not kernel
    return config


# user D3, hw_core 13
@pytest.mark.parametrize("board", boards.BOARDS)
@pytest.mark.parametrize("design", DESIGNS)
def test_training_that_a_readme_names(design, board):
    """The run that it asks for takes the kernel: of the board's default, and of a small one."""
    roomy = {"capacity": 4096} if design in LEARNS else {}
    roomy |= {"gae.depth": 256} if design == "gae" else {}
    for settings in ({}, small(design) | roomy):
        found = DESIGNS[design].config_type
        config = override(DESIGNS[design].default(boards.get(board).numbers), settings)
        description = DESIGNS[design].describe(config)
        run = run_of(training(description, boards.get(board), "xrt").command, board)
        kernel = found.from_dict(description.config)
        assert run.kernel == design
        values = run.kernel_values(spec_of(description))
        present = dict((leaf, value) for leaf, value, _ in leaves(kernel))
        for name, value in values.items():
            leaf = resolve(kernel, name)
            most = name in ("batch", "agents", "snapshots", "tasks", "gae.rows", "gae.depth")
            assert (
                value == present[leaf]
                or (most and value <= present[leaf])
                or (
                    name == "gae.rows"  # further environments come after the others
                )
            ), (name, value, present[leaf])


@pytest.mark.parametrize("environments, collect", [(0, "cpu"), (4, "card")])
def test_a_kernel_that_plays_is_trained_by_collecting(environments, collect):
    board, design = boards.get("ulx3s", "dqn"), DESIGNS["dqn"]
    config = override(design.default(board.numbers), {"play.environments": environments})
    run = run_of(training(design.describe(config), board, "xrt").command, "ulx3s")
    assert run.collect == collect and (run.env_count == 4 or not environments)


def test_a_note_says_what_the_environment_must_have():
    run = training(described("a3c", "u50"), boards.get("u50"), "xrt")
    assert " --env ALE/Seaquest-v5 " in run.command
    assert run.note.startswith(
        "The environment must have observations of 84 x 84 x 4 and 18 actions. "
    )
    assert "`rlfabric bitstream a3c --board u50 --for-run RUN`" in run.note
    other = training(described("dqn", "u50", observation=5), boards.get("u50"), "xrt")
    assert " --env ENV " in other.command and "observations of 5 numbers and 2" in other.note


def test_no_training_of_a_design_without_a_host(monkeypatch):
    """Neither of one that names none, nor of a config that no run takes."""
    board, alone = boards.get("u50"), described("a3c", "u50", snapshots=1)
    assert training(alone, board, "xrt") is None
    replay = described("replay", "u50")
    monkeypatch.setitem(DESIGNS, "replay", replace(DESIGNS["replay"], training=None))
    assert training(replay, board, "xrt") is None
    text = bitstream.files(replay, board)["README.md"]
    assert "No host program is known" in text and "rlfabric train" not in text
