"""``rlfabric compose --generate``: what it writes, what it does not replace, and that it runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import host.compose.answer as composed
import rlfabric
from host.cli.app import app
from host.kernels import read_description
from tests.host.compose.trainer_files import FOLDER
from tests.host.composed_plans import DQN, compose

PPO = ["ppo", "--env", "CartPole-v1", "--set", "steps_per_launch=16", "--set", "batch_size=16"]
PPO += ["--set", "env_count=2", "--set", "steps=256", "--set", "evaluation_episodes=1"]


@pytest.mark.long  # a kernel is made; tests/host/compose/test_program.py has the programs
def test_a_program_its_kernel_and_what_they_are(measured, tmp_path):
    printed = compose(*PPO, "--profile", "--board", "u50", "--generate", "--out", "here")
    out = tmp_path / "here"
    assert printed.splitlines()[-1] == "here/train.py"
    plan = json.loads((out / "plan.json").read_text())
    kernel = read_description(out / "kernels/u50/gae/kernel.json")
    assert kernel.config == plan["kernel"]["config"]
    assert "endmodule" in (out / "kernels/u50/gae/gae.v").read_text()
    text, readme = (out / "train.py").read_text(), (out / "README.md").read_text()
    assert f"plan {plan['hash']};" in text and '"kernels/u50/gae/kernel.json"' in text
    assert f"`{plan['hash']}`" in readme and "--for-run plan.json --out kernels" in readme
    steps = plan["predicted"]["gps"]
    assert f"| gradient steps a second | {steps:.4g} |" in readme and "| card0 | clock: " in readme
    assert str(tmp_path) not in text + readme

    elsewhere = out.rename(tmp_path / "moved")  # it finds what is beside it
    words = [sys.executable, elsewhere / "train.py", "--steps", "128", "--out", "policy.npz"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("128 steps, 80 updates, mean return "), done.stdout
    assert rlfabric.load_policy(tmp_path / "policy.npz").env == "CartPole-v1"


def test_a_program_finds_its_trainer_from_anywhere(measured, tmp_path):
    """Called in another folder, and after both were moved."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/own.py").write_text((FOLDER / "sequential.py").read_text())
    small = ["--set", "trainer.width=4", "--set", "steps=64", "--set", "evaluation_episodes=1"]
    compose("mine/own.py:Trainer", "--env", "CartPole-v1", "--uniform", *small, "--profile",
            "--generate", "--out", "mine/out", "--set", "learning_starts=64")  # fmt: skip
    (tmp_path / "mine").rename(tmp_path / "moved")
    (tmp_path / "other").mkdir()
    words = [sys.executable, tmp_path / "moved/out/train.py", "--out", "policy.npz"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path / "other")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "other/policy.npz").exists()


def test_equal_plans_have_equal_programs(measured, tmp_path):
    for folder in ("one", "two"):
        found = rlfabric.compose(
            "dqn", "CartPole-v1", profile=True, out=folder, config={"capacity": 2048}
        )
        assert found.generate() == Path(folder) / "train.py"
    for name in ("train.py", "README.md", "plan.json"):
        one, two = ((tmp_path / folder / name).read_bytes() for folder in ("one", "two"))
        assert one == two
    assert "kernel" not in (tmp_path / "one/README.md").read_text()


def test_what_is_there_stays(measured, tmp_path):
    """Another plan, and a program that was changed, whatever plan it is of."""
    compose(*DQN, "--profile", "--generate")
    compose(*DQN, "--generate")  # the same
    out = tmp_path / "runs/compose-dqn-CartPole-v1"
    with open(out / "train.py", "a") as file:
        file.write("# mine\n")
    said = compose(*DQN, "--generate", code=2)
    assert said.startswith("out must have no other program, not ")
    assert said.endswith("train.py (--overwrite replaces it)")
    assert (out / "train.py").read_text().endswith("# mine\n")
    compose(*DQN, "--generate", "--overwrite")
    assert not (out / "train.py").read_text().endswith("# mine\n")
    plan = (out / "plan.json").read_bytes()
    told = ["--board", "u200", "--generate", "--out", out]
    assert "out must have no other plan" in compose(*DQN, *told, code=2)
    assert (out / "plan.json").read_bytes() == plan


@pytest.mark.parametrize("code", [0, 3])
def test_run_runs_the_program(measured, monkeypatch, code):
    asked = []
    monkeypatch.setattr(composed, "write_kernel", lambda *_, **__: None)
    monkeypatch.setattr("subprocess.call", lambda words: asked.append(words) or code)
    for words, card in ((DQN, []), (PPO, ["--card", "model"])):
        found = CliRunner().invoke(app, ["compose", *words, "--profile", "--generate", "--run"])
        assert found.exit_code == code
        python, _, _, runner, program, *rest = asked.pop()
        assert python == sys.executable and program.name == "train.py"
        assert "run_path" in runner  # not the file itself, whose folder would be on the path
        assert rest == ["--out", program.with_name("best.npz"), *card]


def test_an_interrupt_ends_the_program_and_the_command(measured, monkeypatch):
    def interrupted(words):
        raise KeyboardInterrupt

    monkeypatch.setattr("subprocess.call", interrupted)
    found = CliRunner().invoke(app, ["compose", *DQN, "--profile", "--generate", "--run"])
    assert found.exit_code == 130


def test_times_have_no_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "generate must be given without times" in compose(
        "dqn", "--times", "times.csv", "--generate", code=2
    )
