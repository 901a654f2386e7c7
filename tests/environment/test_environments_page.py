"""docs/environments.md is followed to the letter, and its table is what the programs are."""

import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from extensions import DOCS, commands, shown
from in_process import in_process

from host.environments.task_ids import find_task
from host.environments.tasks import TaskVectorEnv
from host.summaries import TASKS
from hw.environment.task import trace
from hw.environment.task_program import assemble

PAGE = "environments.md"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs a line of the page in a folder with its files."""
    monkeypatch.chdir(tmp_path)
    for path, text in shown(PAGE).items():
        Path(path).write_text(text)
    called = in_process(monkeypatch, capsys)

    def run(line):
        program, *words = line.split()
        code, out, err = called(*words)
        assert program == "rlfabric" and code == 0, f"{line}: {out}{err}"
        return out

    yield run
    gymnasium.registry.pop("mine/Docking-v0", None)


def test_the_example(run):
    """It has at most 60 lines, trains, and plays what was trained."""
    assert len(shown(PAGE)["docking.py"].splitlines()) <= 60
    train, evaluate = commands(PAGE)
    assert "mean return" in run(train)
    assert "4 episodes" in run(evaluate)


def test_the_physics_of_the_example(run):
    """A law that brakes in time docks from every start; one that does nothing never does."""
    space = {}
    exec(shown(PAGE)["docking.py"], space)
    envs = TaskVectorEnv(200, space["Docking"])

    def docked(act):
        obs, _ = envs.reset(seed=0)
        found = np.zeros(200, bool)
        for _ in range(100):
            obs, _, terminated, _, _ = envs.step(act(obs))
            found |= terminated
        return found.mean()

    def brake(obs):
        wanted = np.clip(-0.4 * obs[:, 0], -0.9, 0.9)
        return 1 + np.sign(np.round((wanted - obs[:, 1]) / 0.3)).astype(np.int64)

    assert docked(brake) == 1 and docked(lambda obs: np.ones(200, np.int64)) < 0.5


def test_the_table():
    rows = re.findall(r"^\| `rlfabric/([\w-]+)` \| (\d+) \|", (DOCS / PAGE).read_text(), re.M)
    found = {name: assemble(trace(find_task(name)())).reset_start for name in TASKS}
    assert dict((name, int(count)) for name, count in rows) == found
