"""host.environments.environment: each autoreset mode gives the same transitions, true
successors."""

import warnings
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from host.agents.registry import find
from host.environments.environment import (
    Actor,
    FlattenedImages,
    has_continuous_actions,
    has_images,
    make_envs,
)
from host.environments.environment_id import reward_threshold
from host.environments.spec import Spec
from host.replay.experience import record_dtype

DQN, DDPG, PPO = map(find, ("dqn", "ddpg", "ppo"))


def sizes(envs):
    spec = Spec.of(envs)
    return spec.size, spec.action_count


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


def test_observations_are_flat():
    envs = make_envs("Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3", 2, DQN)
    assert Actor(envs, seed=0).obs.shape == (2, 500)


@pytest.mark.parametrize("env", ["CartPoal-v1", "CartPole-v99", "no such id", "a*b**"])
def test_unknown_env(env):
    with pytest.raises(ValueError, match="^env must be the id of a registered ") as caught:
        make_envs(env, 1, DQN)
    assert f"environment, not '{env}'" in str(caught.value)


class Bodiless(gymnasium.Env):
    """A package that it needs is not there."""

    def __init__(self):
        raise gymnasium.error.DependencyNotInstalled("no physics")


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


class Camera(Lever):
    """Lever, seen by a camera."""

    observation_space = gymnasium.spaces.Box(0, 255, (96, 96, 3), np.uint8)


class Grid(Lever):
    observation_space = gymnasium.spaces.Box(0, 1, (40, 40, 6), np.float32)


@pytest.fixture
def register():
    """``register(kind)`` makes a class's name the id of it."""
    names = []

    def call(kind):
        names.append(kind.__name__)
        gymnasium.register(kind.__name__, kind)
        return kind.__name__

    yield call
    for name in names:
        del gymnasium.registry[name]


def test_which_actions_are_continuous(register):
    register(Count), register(Lever), register(Camera), register(Bodiless)
    kinds = {env: has_continuous_actions(env) for env in ("Count", "Lever", "CartPole-v1")}
    assert kinds == {"Count": False, "Lever": True, "CartPole-v1": False}
    assert has_continuous_actions("gymnasium.envs:MountainCarContinuous-v0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert has_continuous_actions("Camera"), "images are not made, and not warned of"
    words = r"^env must have its packages installed, not 'Bodiless' \(no physics\)$"
    for make in (has_continuous_actions, lambda env: make_envs(env, 2, PPO)):
        with pytest.raises(ValueError, match=words):
            make("Bodiless")


def test_images_are_flattened_aloud(register):
    register(Camera), register(Grid)
    words = (
        r"env Camera gives images of \(96, 96, 3\): they are flattened to 27648 numbers, 0 to 255"
    )
    with pytest.warns(FlattenedImages, match=words):
        assert sizes(make_envs("Camera", 2, PPO)) == (27648, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FlattenedImages)
        assert sizes(make_envs("Grid", 1, PPO)) == (9600, 2), "numbers, not images"
        make_envs("CartPole-v1", 1, DQN)
        images = make_envs("Camera", 1, replace(DDPG, images=True))
    wanted = Spec((96, 96, 3), "uint8", False, 2, exponent=-8, low=(-2.0, 10.0), high=(6.0, 11.0))
    assert Spec.of(images) == wanted, "as they are"
    seen = [has_images(env, replace(PPO, images=True)) for env in ("Camera", "Grid")]
    assert seen == [True, False], "planes of numbers are no images"


@pytest.mark.filterwarnings("ignore::host.environments.environment.FlattenedImages")
@pytest.mark.parametrize(
    "kind, size, what",
    [
        (Camera, 221200, r"images of \(96, 96, 3\), flattened to 27648"),
        (Grid, 76816, "observations of 9600"),
    ],
)
def test_experiences_that_are_too_large(register, kind, size, what):
    env = register(kind)
    message = f"of at most 65520 bytes for ddpg, not {size}: each has two of the {what} numbers of"
    with pytest.raises(ValueError, match=f"^env must have experiences {message} '{env}'$"):
        make_envs(env, 1, DDPG)


def test_experiences_are_as_large_as_the_buffer_says(register):
    """At the limit: what is refused here is what the replay memory would refuse."""
    largest = (65520 // 4 - 3) // 2

    def fields(size):
        return Spec(shape=(size,), dtype="float32", discrete=True, action_count=2).fields

    record_dtype(fields(largest))
    with pytest.raises(ValueError, match="^fields must be at most 65520"):
        record_dtype(fields(largest + 1))

    class Row(Count):
        observation_space = gymnasium.spaces.Box(-1, 1, (largest,), np.float32)

    class Longer(Count):
        observation_space = gymnasium.spaces.Box(-1, 1, (largest + 1,), np.float32)

    class Full(Lever):  # with an action of two numbers 65520 bytes, to the last
        observation_space = gymnasium.spaces.Box(-1, 1, (largest,), np.float32)

    assert sizes(make_envs(register(Row), 1, DQN)) == (largest, 2)
    assert sizes(make_envs(register(Full), 1, DDPG)) == (largest, 2)
    with pytest.raises(ValueError, match="^env must have experiences of at most 65520 bytes"):
        make_envs(register(Longer), 1, DQN)


def test_continuous_actions():
    with pytest.raises(ValueError, match="^env must have a Discrete action space for dqn, not Box"):
        make_envs("Pendulum-v1", 1, DQN)


def test_actions_reach_from_low_to_high():
    envs = SyncVectorEnv([Lever] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    actor, action = Actor(envs, seed=0), np.float32([[-1, -1], [1, 1], [0.5, 0]])
    taken, _ = actor.step(action)
    assert taken.reward.tolist() == pytest.approx([-2 + 1000, 6 + 1100, 4 + 1050])
    np.testing.assert_array_equal(taken.action, action)  # what is learned from is not scaled
    assert sizes(envs) == (3, 2)


def test_pendulum():
    envs = make_envs("Pendulum-v1", 2, DDPG)
    assert sizes(envs) == (3, 1) and sizes(make_envs("CartPole-v1", 1, DQN)) == (4, 2)
    assert reward_threshold("Pendulum-v1") == -200


def test_ppo_takes_either_kind_of_action():
    assert sizes(make_envs("Pendulum-v1", 1, PPO)) == (3, 1)
    assert sizes(make_envs("CartPole-v1", 1, PPO)) == (4, 2)


class Unbounded(Lever):
    action_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)


class Plane(Lever):
    action_space = gymnasium.spaces.Box(-1, 1, (2, 2), np.float32)


@pytest.mark.parametrize("kind", [Unbounded, Plane])
def test_boxes_that_have_no_scale(register, kind):
    register(kind)
    with pytest.raises(ValueError, match="^env must have a one-dimensional, bounded Box "):
        make_envs(kind.__name__, 1, DDPG)
    with pytest.raises(ValueError, match="a Discrete or one-dimensional, bounded Box action"):
        make_envs(kind.__name__, 1, PPO)
    with pytest.raises(ValueError, match="bounded Box action space for ddpg, not Discrete"):
        make_envs("CartPole-v1", 1, DDPG)
