"""host.environments.environment.Actor: what is infinite or NaN is named as the environment's."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from host.environments.environment import Actor


class Spoilt(gymnasium.Env):
    """Ends after 3 steps; ``name`` is ``value`` from its time ``since`` on."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, name, value, since):
        self.name, self.value, self.since = name, value, since

    def _seen(self, name, good):
        return self.value if self.name == name and self.time >= self.since else good

    def reset(self, *, seed=None, options=None):
        self.time = 0
        return np.array([0, self._seen("observations", 0)], np.float32), {}

    def step(self, action):
        self.time += 1
        obs = np.array([0, self._seen("observations", 1)], np.float32)
        return obs, self._seen("rewards", 1.0), self.time == 3, False, {}


def actor(mode, *what):
    make = [lambda: Spoilt("nothing", 0, 9), lambda: Spoilt(*what)]
    return Actor(SyncVectorEnv(make, autoreset_mode=mode), seed=0)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("since", [2, 3])  # within an episode, and at its end
@pytest.mark.parametrize("name, value", [("observations", np.nan), ("rewards", np.inf)])
def test_what_is_not_finite(mode, since, name, value):
    """user D8: ppo spoke of values at [73, 0], as if its critic had diverged."""
    acting, number = actor(mode, name, value, since), "number 1, " * (name == "observations")
    for _ in range(since - 1):
        acting.step(np.zeros(2, np.int64))
    place = rf"\(environment 1, {number}step {since} of its episode\)"
    with pytest.raises(ValueError, match=f"^env must give finite {name}, not {value} {place}$"):
        acting.step(np.zeros(2, np.int64))


def test_a_first_observation():
    with pytest.raises(ValueError, match="^env must give finite observations, not nan"):
        actor(AutoresetMode.SAME_STEP, "observations", np.nan, 0)


class Later(Spoilt):
    """Its first episode begins well."""

    def reset(self, **how):
        self.since = 0 if hasattr(self, "time") else 9
        return super().reset(**how)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_the_first_observation_of_a_later_episode(mode):
    envs = SyncVectorEnv([lambda: Later("observations", np.nan, 9)] * 2, autoreset_mode=mode)
    acting = Actor(envs, seed=0)
    with pytest.raises(ValueError, match=r"^env must give finite observations, not nan \(env"):
        for _ in range(3 + (mode == AutoresetMode.NEXT_STEP)):
            acting.step(np.zeros(2, np.int64))


class Paying(SyncVectorEnv):
    """Gives a reward for the step of a reset too."""

    def step(self, actions):
        obs, reward, *rest = super().step(actions)
        return obs, reward + 50 * (reward == 0), *rest


def test_the_reward_of_a_reset_is_no_episodes():
    make = [lambda: Spoilt("nothing", 0, 9)]
    acting = Actor(Paying(make, autoreset_mode=AutoresetMode.NEXT_STEP), seed=0)
    steps = [acting.step(np.zeros(1, np.int64)) for _ in range(8)]
    assert [taken.valid.tolist() for taken, _ in steps] == [[t % 4 != 3] for t in range(8)]
    assert steps[3][0].reward.tolist() == [50]
    assert [episodes for _, episodes in steps if episodes] == [[(3.0, 3)]] * 2
