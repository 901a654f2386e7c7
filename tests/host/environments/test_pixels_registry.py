"""host.environments.pixels: what an id was registered with is what its games are."""

from contextlib import closing
from dataclasses import replace

import gymnasium
import pytest

from host.agents.registry import find
from host.environments.environment import make_envs
from host.environments.environment_id import find_spec
from host.environments.pixels import PREPROCESSING, is_atari, settings

#: whatever the registry's takes
DQN = replace(find("dqn"), images=True)


@pytest.fixture
def registered():
    """``registered(id, **of_pong)`` registers Pong with settings of one's own."""
    names = []

    def call(name, **how):
        names.append(name)
        entries = ("ale_py.env:AtariEnv", "ale_py.vector_env:AtariVectorEnv")
        gymnasium.register(
            name,
            entry_point=entries[0],
            vector_entry_point=entries[1],
            kwargs={"game": "pong", **how},
        )

    yield call
    for name in names:
        del gymnasium.registry[name]


def test_other_settings_are_gymnasiums(registered):
    registered("mine/Pong-v0", frameskip=2, repeat_action_probability=0.5)
    registered("mine/PongRam-v0", obs_type="ram")
    registered("mine/PongHard-v0", difficulty=1)
    ddqn = replace(DQN, learns_from="rollouts")  # no record is too large for it
    shapes = {}
    for name in ("Pong", "PongRam", "PongHard"):
        with closing(make_envs(f"mine/{name}-v0", 1, ddqn)) as envs:
            shapes[name] = envs.single_observation_space.shape
    assert shapes == {"Pong": (84, 84, 4), "PongRam": (128,), "PongHard": (210, 160, 3)}


def test_an_id_is_what_the_registry_says():
    """Sticky actions, frames, limit and action set (host 10); of one that skips no frames we do."""
    names = ("frameskip", "repeat_action_probability", "full_action_space")
    names += ("max_num_frames_per_episode",)
    found = {
        env: tuple(settings(find_spec(env))[name] for name in names)
        for env in ("ALE/Pong-v5", "PongNoFrameskip-v4", "PongNoFrameskip-v0")
    }
    assert found == {
        "ALE/Pong-v5": (4, 0.25, False, 108_000),
        "PongNoFrameskip-v4": (4, 0.0, False, 108_000),
        "PongNoFrameskip-v0": (4, 0.25, False, 108_000),
    }
    assert not is_atari(find_spec("Pong-v4")), "holds an action for 2 to 4 frames, by chance"


def test_what_an_id_does_not_say_is_as_usual(registered):
    """And what it says is so, but for frames that are not skipped."""
    names = ("frameskip", "repeat_action_probability", "full_action_space")
    names += ("max_num_frames_per_episode",)
    registered("mine/Pong-v0")
    registered("mine/Pong-v1", frameskip=1, full_action_space=True)
    for skip in (2, 5):
        registered(f"mine/Pong-v{skip}", frameskip=skip, max_num_frames_per_episode=7)
    found = {
        version: [settings(find_spec(f"mine/Pong-v{version}"))[name] for name in names]
        for version in (0, 1, 2, 5)
    }
    assert found == {
        0: [4, 0.25, False, 108_000],
        1: [4, 0.25, True, 108_000],
        2: [2, 0.25, False, 7],
        5: [5, 0.25, False, 7],
    }
    assert all(settings(find_spec("mine/Pong-v0"))[name] == x for name, x in PREPROCESSING.items())
