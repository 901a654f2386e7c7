"""host.agents.evaluation: which episodes are played, by whom, and for how long."""

import warnings
from contextlib import closing

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from host.agents.evaluation import Copies, evaluate
from host.agents.registry import find
from host.environments.environment import Actor, make_envs
from host.environments.environment_id import reward_threshold
from tests.host.seeded import Summing

DQN, DDPG = map(find, ("dqn", "ddpg"))
NAME = "rlfabric-tests/Countdown-v0"


class Countdown(gymnasium.Env):
    """Episodes of ``1 + seed % 13`` steps, each a reward of the seed; odd ones are truncated."""

    observation_space = gymnasium.spaces.Box(0, 1e6, (2,), np.float64)
    action_space = gymnasium.spaces.Discrete(2, start=5)
    made, taken = [], 0

    def __init__(self):
        self.made.append(self)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        assert seed is not None, "an episode of an evaluation has a seed"
        self.seed, self.left = seed, 1 + seed % 13
        return np.array([seed, self.left], float), {}

    def step(self, action):
        assert action == 6 and self.left, "an episode that has ended is not stepped"
        self.left -= 1
        Countdown.taken += 1
        end, odd = not self.left, self.seed % 2 == 1
        return np.array([self.seed, self.left], float), self.seed, end and not odd, end and odd, {}


gymnasium.register(NAME, entry_point=Countdown, disable_env_checker=True)


class Second:
    """Takes the second action; keeps how many rows it saw."""

    def __init__(self):
        self.rows = []

    def act(self, obs, *, greedy):
        assert greedy and obs.dtype == np.float32
        self.rows.append(len(obs))
        return np.ones(len(obs), np.int64)


@pytest.mark.parametrize("episodes", [1, 3, 8, 9, 50])
def test_what_has_ended_is_not_stepped(episodes):
    """At most 8 copies, each with the next episode when its own has ended; there was a copy for
    every episode, all of them stepped until the last had ended (host 21)."""
    Countdown.made.clear()
    Countdown.taken, policy = 0, Second()
    with closing(Copies(NAME, episodes, DQN)) as copies:
        assert len(Countdown.made) == len(copies.envs) == min(episodes, 8)
        found = evaluate(policy, copies, seed=40)
    lengths = np.array([1 + seed % 13 for seed in range(40, 40 + episodes)])
    np.testing.assert_array_equal(found, lengths * np.arange(40, 40 + episodes))
    assert Countdown.taken == sum(policy.rows) == lengths.sum()
    assert max(policy.rows) == min(episodes, 8)
    assert len(policy.rows) <= -(-lengths.sum() // 8) + 13 or episodes < 8


def test_episodes_are_those_of_a_copy_for_each():
    """Of the same seeds, action by action."""
    policy, count = Summing(2), 11
    envs = SyncVectorEnv(
        [lambda: gymnasium.make("CartPole-v1")] * count, autoreset_mode=AutoresetMode.SAME_STEP
    )
    actor, wanted, running = Actor(envs, seed=5), np.zeros(count), np.ones(count, bool)
    while running.any():
        taken, _ = actor.step(policy.act(actor.obs, greedy=True))
        wanted += np.where(running, taken.reward, 0)
        running &= ~(taken.terminated | taken.truncated)
    with closing(Copies("CartPole-v1", count, DQN)) as copies:
        first, other = (evaluate(policy, copies, seed=seed) for seed in (5, 50))
        np.testing.assert_array_equal(first, wanted)
        np.testing.assert_array_equal(evaluate(policy, copies, seed=5), first)
    assert first.tolist() != other.tolist()
    assert reward_threshold("CartPole-v1") == 475


def test_returns_are_summed_in_full():
    """A reward that is no number of float32."""
    first = (1 << 24) + 1
    with closing(Copies(NAME, 1, DQN)) as copies:
        assert evaluate(Second(), copies, seed=first).tolist() == [first * (1 + first % 13)]


def test_games_of_pixels_too():
    """Each by itself, from its seed, as in a vector of all."""
    policy = Summing(6)
    with closing(make_envs("ALE/Pong-v5", 2, DQN)) as envs:
        actor, wanted = Actor(envs, seed=0), np.zeros(2)
        for _ in range(70):
            wanted += actor.step(policy.act(actor.obs, greedy=True))[0].reward
    with closing(Copies("ALE/Pong-v5", 2, DQN)) as copies:
        with pytest.warns(RuntimeWarning, match="^2 episodes .* must end within 70 steps"):
            found = evaluate(policy, copies, seed=0, limit=70)
    np.testing.assert_array_equal(found, wanted)
    assert found.any()


def test_a_limit_and_a_stop():
    with closing(Copies(NAME, 20, DQN)) as copies:
        with pytest.warns(RuntimeWarning, match="^13 episodes of an evaluation must end within 4"):
            found = evaluate(Second(), copies, seed=40, limit=4)
        lengths = np.minimum([1 + seed % 13 for seed in range(40, 60)], 4)
        np.testing.assert_array_equal(found, lengths * np.arange(40, 60))
        assert evaluate(Second(), copies, seed=40, stop=["now"]) is None


class Endless(Countdown):
    def step(self, action):
        obs, reward, *_, info = super().step(action)
        self.left = max(self.left, 1)
        return obs, reward, False, False, info


gymnasium.register("rlfabric-tests/Unending-v0", entry_point=Endless, disable_env_checker=True)


def test_an_evaluation_without_an_end_says_so_while_it_plays(monkeypatch):
    """Once for all evaluations, and before its limit; not where episodes end."""
    monkeypatch.setattr("host.agents.evaluation._LONG", 15)
    with closing(Copies("rlfabric-tests/Unending-v0", 9, DQN)) as copies:
        for count in (2, 1):
            with pytest.warns(RuntimeWarning) as said:
                evaluate(Second(), copies, seed=0, limit=20)
            texts = [str(each.message) for each in said]
            assert len(texts) == count and texts[-1].startswith("9 episodes of an evaluation")
            if count == 2:
                assert texts[0] == (
                    "episode 0 of the evaluation must end, not go on after 15 steps, in which no "
                    "other has ended: it goes on to 20 steps (evaluation_steps)"
                )
    with closing(Copies(NAME, 9, DQN)) as copies, warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(Second(), copies, seed=0)


class Seldom(Countdown):
    """Ends after two steps if its seed is 3 or 5, else never."""

    def reset(self, **options):
        found = super().reset(**options)
        self.left = 2 if self.seed in (3, 5) else 1 << 40
        return found


gymnasium.register("rlfabric-tests/Seldom-v0", entry_point=Seldom, disable_env_checker=True)


def test_each_limit_of_what_was_cut_is_told(monkeypatch):
    """That of episodes cut before any had ended, and that of those cut after."""
    monkeypatch.setattr("host.agents.evaluation._ENDLESS", 3)
    monkeypatch.setattr("host.agents.evaluation._LIMIT", 6)
    words = (
        "^2 episodes of an evaluation must end within 3 steps, 1 within 6 steps "
        r"\(evaluation_steps\), not go on"
    )
    with closing(Copies("rlfabric-tests/Seldom-v0", 5, DQN, most=2)) as copies:
        with pytest.warns(RuntimeWarning, match=words):
            found = evaluate(Second(), copies, seed=1)
    assert found.tolist() == [1 * 3, 2 * 3, 3 * 2, 4 * 6, 5 * 2]


@pytest.mark.parametrize("limit", [0, -1, 2.5, True, "9"])
def test_a_limit_is_a_number_of_steps(limit):
    with closing(Copies(NAME, 1, DQN)) as copies:
        with pytest.raises(
            ValueError, match=rf"^limit must be an integer in 1\.\.\d+, not {limit!r}"
        ):
            evaluate(Second(), copies, seed=0, limit=limit)
        assert len(evaluate(Second(), copies, seed=0, limit=np.int64(20))) == 1


def test_copies_that_cannot_be_made():
    with pytest.raises(ValueError, match="^env must have a one-dimensional, bounded Box action"):
        Copies("CartPole-v1", 3, DDPG)
