"""The driver scripts of `examples/`, each copied to an empty folder and run from there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from children import share_compiled

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))
LINES = 60

#: Script -> options that make it short, and what its last line says.
RUNS = {
    "a3c_on_card.py": (["--steps", "1600"], r"mean return of the last 20 episodes \d+"),
    "raw_commands.py": ([], r"stored 8 clocks are not counted"),
    "dqn_on_card.py": (["--steps", "880"], r"20 updates, mean return of the last 20 episodes \d+"),
    "fixar_on_card.py": (["--steps", "410"], r"mean return of the last 2 episodes -\d+"),
    "replay_in_torch.py": (["--steps", "520"], r"mean return of the last 20 episodes \d+"),
    "sb3_dqn.py": (["--steps", "1280"], r"mean return of 20 episodes \d+"),
    "ppo_with_estimator.py": (["--steps", "1024"], r"mean return of the last 20 episodes \d+"),
}


def _text(name):
    return (ROOT / "examples" / name).read_text()


def test_every_example_is_run_and_short():
    assert set(EXAMPLES) == set(RUNS)
    for name in EXAMPLES:
        text = _text(name)
        assert text.count("\n") <= LINES, f"{name} must have at most {LINES} lines"
        assert '"--card"' in text


#: examples that import torch, which alone takes seconds
TORCH = ("replay_in_torch.py", "ppo_with_estimator.py", "sb3_dqn.py")


def _run(name, tmp_path, *options):
    """What the script, on card model in an empty folder, prints last."""
    share_compiled(tmp_path / "build")
    shutil.copy(ROOT / "examples" / name, tmp_path)
    environment = {name: value for name, value in os.environ.items() if name != "RLFABRIC_BUILD"}
    paths = [str(ROOT), *filter(None, [environment.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, name, "--card", "model", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env={**environment, "PYTHONPATH": os.pathsep.join(paths)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long) if n in TORCH else n for n in RUNS]
)
def test_runs_from_an_empty_folder(name, tmp_path):
    options, last = RUNS[name]
    said = _run(name, tmp_path, *options)
    assert re.fullmatch(last + r"[\d.]*", said), said
    assert list((tmp_path / "build").rglob("kernel.json"))


@pytest.mark.long
@pytest.mark.parametrize("steps, count", [("0", "0"), ("1", r"\d+")])
def test_few_steps_of_ppo(tmp_path, steps, count):
    """What finished is counted; a part of a rollout is a rollout."""
    said = _run("ppo_with_estimator.py", tmp_path, "--steps", steps)
    assert re.fullmatch(rf"mean return of the last {count} episodes \d+\.\d", said), said


def test_few_steps_of_dqn(tmp_path):
    """No episode ends in one step; of none, the mean is 0 and not nan."""
    said = _run("dqn_on_card.py", tmp_path, "--steps", "8")
    assert said == "0 updates, mean return of the last 0 episodes 0.0", said
