"""docs/agent_on_chip.md: CartPole with another gravity is another program of the same kernel."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from extensions import commands, shown
from in_process import in_process

from host.environments.task_ids import program_of
from host.environments.tasks import TaskVectorEnv
from hw.environment.machine_image import image_of
from hw.environment.tasks.cartpole import CartPole

PAGE = "agent_on_chip.md"
COUNT = 500


@pytest.fixture
def jupiter():
    space = {}
    exec(shown(PAGE)["jupiter.py"], space)
    yield space["Jupiter"]
    gymnasium.registry.pop("mine/Jupiter-v1")


def test_its_steps_are_gymnasiums_with_this_gravity(jupiter):
    ours = TaskVectorEnv(COUNT, jupiter)
    seen, _ = ours.reset(seed=1)
    env = gymnasium.make("CartPole-v1").unwrapped
    env.reset(seed=0)
    env.gravity = jupiter.gravity
    actions = np.random.default_rng(2).integers(2, size=(20, COUNT))
    for step in actions:
        before, (seen, _, ended, _, _) = seen, ours.step(step)
        for state, action, after in zip(before[~ended], step[~ended], seen[~ended], strict=True):
            env.state, env.steps_beyond_terminated = state.astype(np.float64), None
            np.testing.assert_allclose(after, env.step(int(action))[0], atol=1e-6)
    assert jupiter.gravity == 24.8 and CartPole.gravity == 9.8


def test_the_machine_gets_as_many_words(jupiter):
    """Constants and fraction bits are others, and nothing that the kernel was made for."""
    earth, there = (image_of(program_of(task)[1], 500) for task in (CartPole, jupiter))
    assert len(earth.words) == len(there.words) and earth.words != there.words


def test_its_line_trains(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("jupiter.py").write_text(shown(PAGE)["jupiter.py"])
    called = in_process(monkeypatch, capsys)
    _, line = [line for line in commands(PAGE) if "--set collect=card" in line]
    line = line.replace("uart:/dev/ttyUSB0", "model").replace("--steps 30000", "--steps 1600")
    code, out, err = called(*line.split()[1:])
    gymnasium.registry.pop("mine/Jupiter-v1", None)
    assert code == 0 and "mean return" in out, err
