"""docs/adding_*.md are followed to the letter: their files are a user's packages, outside of the
repository, and their commands are run in order."""

import runpy
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from extensions import commands, install_page, visible
from in_process import in_process

from boards.report import PICTURE
from host.cards import open_card
from host.kernels import describe, package
from host.programs.launcher import Launcher
from sim.model.kernels import KERNELS
from system.tools import BUILD_DIRECTORY


@pytest.fixture
def follow(tmp_path, monkeypatch, capsys):
    """``follow(page)`` gives what each command of the page printed, in a folder with its files;
    the packages stay."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("host.runs.start_run.BUILD_DIRECTORY", tmp_path / "build")
    Path("build").mkdir()
    # What yosys finds of a text is kept: it does not depend on where the report goes.
    kept = BUILD_DIRECTORY / "area"
    kept.mkdir(parents=True, exist_ok=True)
    Path("build", "area").symlink_to(kept)
    run = in_process(monkeypatch, capsys)

    def command(line):
        program, *words = shlex.split(line)
        if program == "python":
            monkeypatch.setattr(sys, "argv", words)
            runpy.run_path(words[0])
            return capsys.readouterr().out
        if words[0] in ("verilog", "report"):  # whose folder was chosen when this process began
            words += ["--out", "build"]
        assert program == "rlfabric"
        code, out, err = run(*words)
        assert code == 0 and "left out" not in err, f"{line}: {out}{err}"
        return out

    def follow(page):
        install_page(tmp_path, page)
        return {line: command(line) for line in commands(page)}

    with visible(tmp_path):
        yield follow


def test_an_algorithm(follow):
    said = follow("adding_an_algorithm.md")
    assert "expected SARSA" in said["rlfabric list algorithms"]
    assert "randomness" in said["rlfabric show sarsa"]
    trained = [line for line in said if line.startswith("rlfabric train")]
    assert len(trained) == 3 and all("mean return" in said[line] for line in trained)
    played = [line for line in said if line.startswith("rlfabric evaluate")]
    assert len(played) == 2 and all(
        "2 episodes" in said[line] or "20" in said[line] for line in played
    )


def clipped(kernel, rewards, limit):
    launcher = Launcher(kernel)
    size = -(-rewards.nbytes // 64) * 64
    (opcode,) = launcher.design.commands
    command = {"count": len(rewards), "limit": limit}
    got = launcher.run([(opcode, command)], operands=[(0, rewards)], results_bytes=size)
    return got.view("<i4")[: len(rewards)]


def test_a_design(follow):
    said = follow("adding_a_design.md")
    assert "integers, clipped to a range" in said["rlfabric list designs"]
    assert "capacity" in said["rlfabric show clip"]
    assert "clean" in said["rlfabric verilog clip --board zcu106 --lint"]
    assert PICTURE in said["rlfabric report clip --board zcu106"]
    assert "CLIP" in Path("build", "zcu106", "clip", "registers.md").read_text()
    for card in ("model", "sim"):
        assert said[f"python use_clip.py {card}"] == "[-1, -1, 0, 1, 1] 5\n"
    assert len(Path("my_kernels", "clip.py").read_text().splitlines()) <= 100
    rewards = np.random.default_rng(0).integers(-(1 << 31), 1 << 31, 1000).astype("<i4")
    rewards[:4] = -(1 << 31), (1 << 31) - 1, 1 << 30, -(1 << 30)
    for card in ("model", "sim"):
        with open_card(card) as opened:
            kernel = opened.load(Path("build", "zcu106", "clip", "kernel.json"))
            kernel.check()
            for limit in (0, 1 << 30, (1 << 31) - 1):
                wanted = np.clip(rewards, -limit, limit)
                np.testing.assert_array_equal(clipped(kernel, rewards, limit), wanted)
    del KERNELS["clip"]
    path = describe("clip", "u50", "build")
    with open_card("model") as opened, pytest.raises(ValueError, match="and card sim needs none"):
        opened.load(path / "kernel.json")


def test_a_board(follow, tmp_path):
    install_page(tmp_path, "adding_a_design.md")
    said = follow("adding_a_board.md")
    assert "LFE5U-45F" in said["rlfabric list boards"]
    assert Path("build", "ulx3s_45f", "replay", "replay.v").is_file()
    folder = package("clip", "ULX3S_45F", "build")
    assert "--45k" in (folder / "build_ulx3s_45f.sh").read_text()
    assert "on a ULX3S-45F" in (folder / "README.md").read_text()
