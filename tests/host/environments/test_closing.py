"""host.environments: environments that were made to find out, or for nothing, are closed."""

from contextlib import closing

import gymnasium
import numpy as np
import pytest

from host.agents.evaluation import Copies
from host.agents.registry import find
from host.environments.border import EnvironmentFailed
from host.environments.environment import has_continuous_actions, has_images, make_envs
from host.runs.rollout_runs import OnPolicyConfig
from host.runs.run_config import spec_of

NAME = "rlfabric-tests/Closing-v0"


class Closing(gymnasium.Env):
    """``made`` are all that there are; the one after ``most`` cannot be made."""

    observation_space = gymnasium.spaces.Box(-1, 1, (), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    made, most = [], 100

    def __init__(self):
        if len(self.made) == self.most:
            raise LookupError("no more of them")
        self.closed = False
        self.made.append(self)

    def close(self):
        self.closed = True


gymnasium.register(NAME, entry_point=Closing)


@pytest.fixture
def made(monkeypatch):
    """Environments from here on."""
    monkeypatch.setattr(Closing, "made", [])
    return Closing.made


DQN, DDPG = map(find, ("dqn", "ddpg"))


@pytest.mark.parametrize(
    "look, found",
    [
        (lambda: has_continuous_actions(NAME), False),
        (lambda: has_images(NAME, DQN), False),
        (lambda: spec_of(OnPolicyConfig(env=NAME)).shape, (1,)),
    ],
    ids=["actions", "images", "spec"],
)
def test_what_was_made_to_find_out(made, look, found):
    """And an observation that is one number is a vector of one."""
    assert look() == found
    assert len(made) == 1 and made[0].closed


def test_environments_that_an_algorithm_refuses(made):
    with pytest.raises(ValueError, match="^env must have a one-dimensional, bounded Box action"):
        make_envs(NAME, 3, DDPG)
    assert len(made) == 3 and all(env.closed for env in made)


def test_observations_that_cannot_be_flattened(made, monkeypatch):
    monkeypatch.setattr(Closing, "observation_space", gymnasium.spaces.Text(3))
    with pytest.raises(ValueError, match="^env must have observations that can be flattened"):
        make_envs(NAME, 3, DQN)
    assert len(made) == 1 and made[0].closed


def test_copies(made, monkeypatch):
    """All of them; and those that were made, where one more cannot be."""
    with closing(Copies(NAME, 5, DQN)):
        assert len(made) == 5 and not any(env.closed for env in made)
    assert all(env.closed for env in made)
    made.clear()
    monkeypatch.setattr(Closing, "most", 2)
    with pytest.raises(EnvironmentFailed, match="raised LookupError: no more of them"):
        Copies(NAME, 5, DQN)
    assert len(made) == 2 and all(env.closed for env in made)
