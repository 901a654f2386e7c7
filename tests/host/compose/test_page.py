"""docs/composer.md is followed to the letter: its files, and its commands in order, small."""

import json
import os
import re
import runpy
import shlex
import sys

import pytest
from extensions import DOCS, commands, shown
from in_process import in_process

import host.compose.answer as composed
import rlfabric
from tests.host.machine_files import write_machine

#: What makes a command one of seconds -> of these programs.
AGENT = (
    "--set batch_size=16 --set capacity=512 --set learning_starts=64 --set evaluation_episodes=1"
)
BRIEF = f"--launches 5 {AGENT} --set steps=400 --set evaluation_interval_steps=400"
FILES = shown("composer.md")


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """``command(line)`` gives what a line of the page prints, in a folder with the page's files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("host.runs.start_run.BUILD_DIRECTORY", tmp_path / "build")
    monkeypatch.setattr("host.compose.profile.WARM", 1)
    monkeypatch.setattr("host.compose.primitive_times.ITERATIONS", 5)
    monkeypatch.setattr(rlfabric.Composer, "_launches", 5)
    monkeypatch.setattr(rlfabric.Composer, "_config", {"trainer.width": 4, "batch_size": 16})
    monkeypatch.setattr(rlfabric.Composer, "_kernel", {"multipliers": 2, "lanes": 1})
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    write_machine(tmp_path)
    run = in_process(monkeypatch, capsys)

    def command(line, card):
        program, *words = shlex.split(line)
        if program == "python":
            if "--card" in words:
                words[words.index("sim")] = card
            monkeypatch.setattr(sys, "argv", words)
            if words[0] == "compose_mine.py":  # the Verilog of one kernel is enough
                monkeypatch.setattr(composed, "write_kernel", lambda *_, **__: None)
            runpy.run_path(words[0], run_name="__main__")
            return capsys.readouterr().out
        if words[0] == "compose" and "--times" not in words:
            words += BRIEF.split() + ([] if "--profile" in words else ["--profile"])
            if words[1].startswith("my_trainer.py"):
                words += ["--set", "trainer.width=4", "--set", "kernel.multipliers=2"]
        elif words[0] == "train":
            words += ["--steps", "400"]
        code, out, err = run(*words)
        assert code == 0, f"{line}: {out}{err}"
        return out

    yield command
    sys.modules.pop("my_trainer", None)


@pytest.mark.long
@pytest.mark.parametrize("card", ["model", "sim"])
def test_the_page(command, card, tmp_path):
    said = {line: command(line, card) for line in commands("composer.md")}
    plan = json.loads((tmp_path / "runs/mine/plan.json").read_text())
    assert plan["task"]["trainer"] == "my_trainer.py:DQNTrainer" and plan["board"] == "u50"
    refused = [each for each in plan["refused"] if each["learner"] == "card0"]
    assert not refused, "the proof has passed"
    proof = plan["task"]["proof"]
    assert "not seen: what depends on time" in proof
    assert f"my_trainer.py:DQNTrainer: {proof}" in next(out for x, out in said.items() if "50" in x)
    if plan["config"]["learner"] == "card":
        first = (tmp_path / "runs/mine/train.py").read_text().split('"""')[1].split("\n\n")[-1]
        assert first.split() == f"{proof[0].upper()}{proof[1:]}.".split()
        program = next(out for x, out in said.items() if x.startswith("python runs/mine"))
        assert (
            program.startswith(first.strip())
            and proof in (tmp_path / "runs/mine/README.md").read_text()
        )
    assert {each["kernel"] for each in plan["alternatives"]} == {"none", "replay", "dqn"}
    assert any("mean return" in out for line, out in said.items() if "evaluate" in line)
    composed = tmp_path / "runs" / "compose-my_trainer.py-DQNTrainer-CartPole-v1"
    assert (composed / "train.py").is_file(), os.listdir(tmp_path / "runs")


def test_how_much_a_user_writes():
    """At most 25 lines beside the trainer; none of them differs between two machines, and one with
    the folder's name in the program. CD = 1 - |a & b| / |a | b| (PEARL VII-E)."""
    trainer, program = FILES["my_trainer.py"], FILES["compose_mine.py"]
    lines = [line for line in program.splitlines() if line.strip()]
    assert len(trainer.splitlines()) <= 40 and len(lines) <= 25

    def divergence(one, other):
        one, other = (set((trainer + text).splitlines()) - {""} for text in (one, other))
        return 1 - len(one & other) / len(one | other)

    assert divergence(program, program) == 0
    named = [re.sub(r"sys.argv\[1\]", f'"{name}"', program) for name in ("this", "u200")]
    assert 0 < divergence(*named) <= 0.05
    page = (DOCS / "composer.md").read_text()
    total = len(trainer.splitlines()) + len(program.splitlines())
    assert f"{total} lines" in page and f"{divergence(*named):.2f}" in page
