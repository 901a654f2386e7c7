"""host.agents.environment: each autoreset mode gives the same transitions, with true successors."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from host.agents.environment import Actor, evaluate, make_envs, reward_threshold, sizes


class Count(gymnasium.Env):
    """Observes (episode, time); ends after 3 + episode steps, odd episodes by truncation."""

    observation_space = gymnasium.spaces.Box(-1e6, 1e6, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2, start=5)

    def __init__(self, index=0):
        self.episode, self.index = -1, index

    def _obs(self):
        return np.array([self.episode + 100 * self.index, self.time], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode, self.time = self.episode + 1, 0
        return self._obs(), {}

    def step(self, action):
        assert action in (5, 6), "actions count from the space's start"
        self.time += 1
        end = self.time == 3 + self.episode + self.index
        odd = self.episode % 2 == 1
        return self._obs(), float(self.time), end and not odd, end and odd, {}


def collect(mode, steps):
    """Transitions of two unequal environments, by environment, resets left out."""
    envs = SyncVectorEnv([lambda i=i: Count(i) for i in range(2)], autoreset_mode=mode)
    actor, rows, episodes = Actor(envs, seed=0), [[], []], []
    for _ in range(steps):
        taken, ended = actor.step(np.array([0, 1]))
        episodes += ended
        for i in range(2):
            if taken.valid[i]:
                rows[i].append(
                    (
                        *taken.obs[i],
                        *taken.next_obs[i],
                        taken.reward[i],
                        bool(taken.terminated[i]),
                        bool(taken.truncated[i]),
                    )
                )
    return rows, episodes


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_transitions_are_true(mode):
    rows, episodes = collect(mode, 40)
    for i in range(2):
        expected, episode, time = [], 0, 0
        for _ in rows[i]:
            end = time + 1 == 3 + episode + i
            odd = episode % 2 == 1
            at = episode + 100 * i
            expected.append((at, time, at, time + 1, time + 1, end and not odd, end and odd))
            episode, time = (episode + 1, 0) if end else (episode, time + 1)
        assert rows[i] == expected
        assert len(rows[i]) >= 33 and episode >= 4
    lengths = [length for _, length in episodes]
    assert all(value == n * (n + 1) / 2 for value, n in episodes) and sorted(lengths)[0] == 3


def test_only_next_step_spends_steps_on_resets():
    counts = {mode: sum(map(len, collect(mode, 40)[0])) for mode in AutoresetMode}
    assert counts[AutoresetMode.SAME_STEP] == counts[AutoresetMode.DISABLED] == 80
    assert counts[AutoresetMode.NEXT_STEP] < 80


def test_mode_must_be_named():
    envs = SyncVectorEnv([Count])
    del envs.metadata["autoreset_mode"]
    with pytest.raises(ValueError, match="^envs must name its autoreset_mode in its metadata"):
        Actor(envs, seed=0)


class Greedy:
    def act(self, obs, *, greedy):
        assert greedy
        return np.zeros(len(obs), np.int64)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_evaluate_counts_one_episode_each(mode):
    envs = SyncVectorEnv([lambda i=i: Count(i) for i in range(4)], autoreset_mode=mode)
    assert evaluate(Greedy(), envs, seed=0).tolist() == [6, 10, 15, 21]


def test_evaluation_is_seeded():
    envs = make_envs("CartPole-v1", 5)
    first, other = evaluate(Greedy(), envs, seed=1), evaluate(Greedy(), envs, seed=50)
    np.testing.assert_array_equal(evaluate(Greedy(), envs, seed=1), first)
    assert first.tolist() != other.tolist()
    assert reward_threshold("CartPole-v1") == 475


def test_observations_are_flat():
    envs = make_envs("Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3", 2)
    assert Actor(envs, seed=0).obs.shape == (2, 500)


@pytest.mark.parametrize("env", ["CartPoal-v1", "CartPole-v99", "no such id"])
def test_unknown_env(env):
    with pytest.raises(ValueError, match=f"^env must be the id of a registered .*, not '{env}'"):
        make_envs(env, 1)


def test_continuous_actions():
    with pytest.raises(ValueError, match="^env must have a Discrete action space for dqn, not Box"):
        make_envs("Pendulum-v1", 1)


class Lever(gymnasium.Env):
    """Its reward is the sum of the applied action, of components in [-2, 6] and [10, 11]."""

    observation_space = gymnasium.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gymnasium.spaces.Box(np.float32([-2, 10]), np.float32([6, 11]))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(3, np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        return np.zeros(3, np.float32), float(action[0] + 100 * action[1]), False, False, {}


def test_actions_reach_from_low_to_high():
    envs = SyncVectorEnv([Lever] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    actor, action = Actor(envs, seed=0), np.float32([[-1, -1], [1, 1], [0.5, 0]])
    taken, _ = actor.step(action)
    assert taken.reward.tolist() == pytest.approx([-2 + 1000, 6 + 1100, 4 + 1050])
    np.testing.assert_array_equal(taken.action, action)  # what is learned from is not scaled
    assert sizes(envs) == (3, 2)


def test_pendulum():
    envs = make_envs("Pendulum-v1", 2, "ddpg")
    assert sizes(envs) == (3, 1) and sizes(make_envs("CartPole-v1", 1)) == (4, 2)
    assert reward_threshold("Pendulum-v1") == -200


def test_ppo_takes_either_kind_of_action():
    assert sizes(make_envs("Pendulum-v1", 1, "ppo")) == (3, 1)
    assert sizes(make_envs("CartPole-v1", 1, "ppo")) == (4, 2)


class Unbounded(Lever):
    action_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)


class Plane(Lever):
    action_space = gymnasium.spaces.Box(-1, 1, (2, 2), np.float32)


@pytest.mark.parametrize("kind", [Unbounded, Plane])
def test_boxes_that_have_no_scale(kind):
    gymnasium.register("Lever-v0", kind)
    try:
        with pytest.raises(ValueError, match="^env must have a one-dimensional, bounded Box "):
            make_envs("Lever-v0", 1, "ddpg")
        with pytest.raises(ValueError, match="a Discrete or one-dimensional, bounded Box action"):
            make_envs("Lever-v0", 1, "ppo")
    finally:
        del gymnasium.registry["Lever-v0"]
    with pytest.raises(ValueError, match="bounded Box action space for ddpg, not Discrete"):
        make_envs("CartPole-v1", 1, "ddpg")
