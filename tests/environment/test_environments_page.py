"""docs/environments.md and the task of docs/agent_on_chip.md are followed to the letter, and the
table has the programs' numbers."""

import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from extensions import DOCS, commands, shown
from in_process import in_process

from host.environments.task_ids import find_task, program_of
from host.environments.tasks import TaskVectorEnv
from host.summaries import TASKS
from hw.environment.machine_image import image_of
from hw.environment.task import trace
from hw.environment.task_program import assemble
from hw.environment.tasks.cartpole import CartPole

PAGE, AGENT = "environments.md", "agent_on_chip.md"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs a line of the pages in a folder with their files."""
    monkeypatch.chdir(tmp_path)
    for path, text in (shown(PAGE) | shown(AGENT)).items():
        Path(path).write_text(text)
    called = in_process(monkeypatch, capsys)

    def run(line):
        program, *words = line.split()
        code, out, err = called(*words)
        assert program == "rlfabric" and code == 0, f"{line}: {out}{err}"
        return out

    yield run
    for name in ("mine/Docking-v0", "mine/Jupiter-v1"):
        gymnasium.registry.pop(name, None)


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


@pytest.fixture
def jupiter():
    space = {}
    exec(shown(AGENT)["jupiter.py"], space)
    yield space["Jupiter"]
    gymnasium.registry.pop("mine/Jupiter-v1")


def test_steps_on_jupiter_are_gymnasiums(jupiter):
    count = 500
    ours = TaskVectorEnv(count, jupiter)
    seen, _ = ours.reset(seed=1)
    env = gymnasium.make("CartPole-v1").unwrapped
    env.reset(seed=0)
    env.gravity = jupiter.gravity
    actions = np.random.default_rng(2).integers(2, size=(20, count))
    for step in actions:
        before, (seen, _, ended, _, _) = seen, ours.step(step)
        for state, action, after in zip(before[~ended], step[~ended], seen[~ended], strict=True):
            env.state, env.steps_beyond_terminated = state.astype(np.float64), None
            np.testing.assert_allclose(after, env.step(int(action))[0], atol=1e-6)
    assert jupiter.gravity == 24.8 and CartPole.gravity == 9.8


def test_jupiter_takes_the_machine_of_earth(jupiter):
    """Its image has other words, and as many of them."""
    earth, there = (image_of(program_of(task)[1], task.limit) for task in (CartPole, jupiter))
    assert len(earth.words) == len(there.words) and earth.words != there.words


def test_a_run_on_jupiter(run):
    [line] = [line for line in commands(AGENT) if "--set collect=card" in line]
    line = line.replace("uart:/dev/ttyUSB0", "model").replace("--steps 30000", "--steps 1600")
    assert "mean return" in run(line)
