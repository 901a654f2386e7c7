"""Tasks as gymnasium's environments: one and many are the same, and every algorithm takes them."""

import importlib.metadata
import re
from importlib.util import find_spec as find_module
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from environment.task_cases import Odd
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from host.agents.registry import find
from host.environments.environment import Actor, make_envs
from host.environments.environment_id import find_spec, reward_threshold
from host.environments.task_ids import find_task, is_task, register_task
from host.environments.tasks import TaskEnv, TaskVectorEnv
from host.summaries import TASKS

ROOT = Path(__file__).parents[3]
IDS = [f"rlfabric/{name}" for name in TASKS]


@pytest.mark.parametrize("env", IDS)
def test_gymnasiums_checker_has_nothing_to_say(env, recwarn):
    made = gymnasium.make(find_spec(env), disable_env_checker=True).unwrapped
    # gymnasium's pictures need pygame, which `make test` does not install.
    check_env(made, skip_render_check=not find_module("pygame"))
    assert not [str(each.message) for each in recwarn if "not within the obs" in str(each.message)]


@pytest.mark.parametrize("name", TASKS)
def test_ids_have_what_the_tasks_have(name):
    """Limits and thresholds stand twice, so that gymnasium's import stays quick."""
    spec, task = find_spec(f"rlfabric/{name}"), find_task(name)
    assert is_task(spec) and not is_task(find_spec(name))
    assert spec.max_episode_steps == task.limit == find_spec(name).max_episode_steps
    assert reward_threshold(spec.id) == reward_threshold(name) == TASKS[name][2]
    assert task.threshold == find_spec(name).reward_threshold
    ours, theirs = gymnasium.make(spec), gymnasium.make(name)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space


def test_the_entry_point_registers_them():
    (entry,) = re.findall(
        r'"gymnasium.envs"\]\nrlfabric = "(.*)"', (ROOT / "pyproject.toml").read_text()
    )
    register = importlib.metadata.EntryPoint("rlfabric", entry, "gymnasium.envs").load()
    kept = {name: gymnasium.registry.pop(name) for name in IDS if name in gymnasium.registry}
    register()
    assert all(str(gymnasium.registry[name]) == str(kept.get(name, gymnasium.registry[name]))
               for name in IDS)  # fmt: skip


def test_many_are_as_one_each():
    """Environment i with seed s is one environment with seed s + i, over ends of episodes; an
    episode's last observation is apart from the next one's first."""
    count = 6
    many = TaskVectorEnv(count, find_task("CartPole-v1"))
    ones = [TaskEnv(find_task("CartPole-v1")) for _ in range(count)]
    rng = np.random.default_rng(0)
    first, _ = many.reset(seed=40)
    for i, one in enumerate(ones):
        np.testing.assert_array_equal(one.reset(seed=40 + i)[0], first[i])
    ends = 0
    for _ in range(120):
        actions = rng.integers(2, size=count)
        obs, reward, terminated, truncated, info = many.step(actions)
        for i, one in enumerate(ones):
            mine = one.step(actions[i])
            assert mine[1:4] == (reward[i], terminated[i], truncated[i])
            ended = mine[2] or mine[3]
            final = info["final_obs"][i] if ended else obs[i]
            np.testing.assert_array_equal(mine[0], final)
            if ended:
                assert info["_final_obs"][i]
                np.testing.assert_array_equal(one.reset()[0], obs[i])
                ends += 1
    assert ends > 10


def test_seeds():
    many = TaskVectorEnv(3, find_task("Pendulum-v1"))
    first, _ = many.reset(seed=5)
    listed, _ = many.reset(seed=[5, 6, 7])
    np.testing.assert_array_equal(first, listed)
    assert (many.reset()[0] != listed).any()
    with pytest.raises(ValueError, match="seed must have 3 seeds, not 2"):
        many.reset(seed=[1, 2])
    one = TaskEnv(find_task("Pendulum-v1"))
    one.reset(seed=6)
    many.reset(seed=5)  # without a seed, each goes on with its own random numbers
    np.testing.assert_array_equal(many.reset()[0][1], one.reset()[0])
    fresh = [TaskEnv(find_task("Pendulum-v1")).reset()[0] for _ in range(2)]
    assert (fresh[0] != fresh[1]).any()


@pytest.mark.parametrize("name, actions, message", [
    ("CartPole-v1", [0, 2], "actions must be in 0..1, not 2 of environment 1"),
    ("CartPole-v1", [0], r"actions must have the shape \(2,\), not \(1,\)"),
    ("Pendulum-v1", [[0.0], [np.nan]], r"actions must be numbers, not \[nan\] of environment 1"),
    ("CartPole-v1", [0.0, 1.0], "actions must be integers, not of type float64"),
    ("CartPole-v1", [False, True], "actions must be integers, not of type bool"),
    ("Pendulum-v1", [["0"], ["1"]], "actions must be real numbers, not of type <U1"),
    ("Pendulum-v1", [[0j], [1j]], "actions must be real numbers, not of type complex128"),
    ("Pendulum-v1", [0.0, 1.0], r"actions must have the shape \(2, 1\), not \(2,\)"),
])  # fmt: skip
def test_actions_are_checked(name, actions, message):
    many = TaskVectorEnv(2, find_task(name))
    with pytest.raises(ValueError, match="reset must be called before step"):
        many.step(np.array(actions))
    many.reset(seed=0)
    with pytest.raises(ValueError, match=message):
        many.step(np.array(actions))


def test_a_limit_of_steps():
    """Of the task, or another, shorter or longer; an episode that is cut is no end."""
    for limit, given in ((7, None), (3, 3), (9, 9)):
        many = TaskVectorEnv(2, Odd, max_episode_steps=given)
        many.reset(seed=0)
        lengths = np.zeros(2, int)
        for _ in range(30):
            _, _, terminated, truncated, info = many.step(np.zeros((2, 2), np.float32))
            lengths += 1
            ended = info.get("_final_obs", np.zeros(2, bool))
            np.testing.assert_array_equal(ended, terminated | truncated)
            np.testing.assert_array_equal(truncated, lengths == limit)
            lengths[terminated | truncated] = 0
    many = gymnasium.make_vec(find_spec("rlfabric/CartPole-v1"), num_envs=2)
    assert many.num_envs == 2 and many.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP


class Brief(find_task("MountainCar-v0")):
    limit = 7


@pytest.mark.parametrize("given", [5, 9])
def test_an_id_with_a_limit_of_its_own(given):
    """Below and above the task's; runs collect with it, and ``gymnasium.make`` has it."""
    env, entry = f"mine/Brief{given}-v0", f"{TaskEnv.__module__}:TaskEnv"
    gymnasium.register(env, entry, max_episode_steps=given, kwargs={"task": Brief})
    many = make_envs(env, 1, find("dqn"))
    many.reset(seed=3)
    for step in range(1, given + 1):
        assert many.step(np.ones(1, np.int64))[3] == (step == given)
    for options, limit in ((dict(), given), (dict(max_episode_steps=11), 11)):
        one = gymnasium.make(env, **options)
        one.reset(seed=3)
        assert [one.step(1)[3] for _ in range(limit)] == [False] * (limit - 1) + [True]


def test_the_collector_gets_true_successors():
    """``make_envs`` gives a vector environment; ``Actor`` steps it as any other."""
    envs = make_envs("rlfabric/CartPole-v1", 4, find("dqn"))
    assert isinstance(envs, TaskVectorEnv)
    actor, episodes = Actor(envs, seed=3), []
    for _ in range(60):
        seen, ended = actor.step(np.ones(4, np.int64))
        episodes += ended
        over = np.abs(seen.next_obs[:, 2]) > 12 * np.pi / 180
        np.testing.assert_array_equal(over, seen.terminated)
    assert len(episodes) >= 20 and all(gained == length <= 12 for gained, length in episodes)


def test_the_collector_passes_the_render_mode_on():
    for mode in (None, "rgb_array"):
        envs = make_envs("rlfabric/CartPole-v1", 2, find("dqn"), mode)
        assert envs.render_mode == mode
        envs.close()


def test_a_task_of_ones_own_has_an_id():
    register_task("mine/Odd-v0", Odd)
    register_task("mine/Odd-v0", Odd)  # a module may be imported by two names
    env = gymnasium.make("mine/Odd-v0")
    assert env.spec.max_episode_steps == 7 and env.action_space.shape == (2,)
    with pytest.raises(ValueError, match="render_mode must be None for Odd, not 'rgb_array'"):
        TaskEnv(Odd, render_mode="rgb_array")


@pytest.mark.parametrize("name", TASKS)
def test_pictures_are_gymnasiums(name):
    """A picture of the same state is the same picture."""
    pytest.importorskip("pygame")
    ours, theirs = (gymnasium.make(each, render_mode="rgb_array").unwrapped
                    for each in (f"rlfabric/{name}", name))  # fmt: skip
    find_spec(f"rlfabric/{name}")
    ours.reset(seed=1)
    theirs.reset(seed=2)
    forms = find_task(name).formats.values()
    theirs.state = [form.to_float(each) for form, each in zip(forms, ours._twin.state[:, 0],
                                                              strict=True)]  # fmt: skip
    np.testing.assert_array_equal(ours.render(), theirs.render())
    (picture,) = (many := TaskVectorEnv(2, find_task(name), render_mode="rgb_array")).reset(
        seed=1
    ) and many.render()
    np.testing.assert_array_equal(picture, ours.render())
    many.close()


@pytest.mark.long
@pytest.mark.parametrize("env", IDS)
def test_the_checker_of_stable_baselines(env):
    pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.env_checker import check_env as check

    check(gymnasium.make(find_spec(env)))


@pytest.mark.long
@pytest.mark.parametrize(
    "algorithm, env, options",
    [("DQN", "CartPole-v1", dict(learning_starts=64, train_freq=4, target_update_interval=64)),
     ("TD3", "Pendulum-v1", dict(learning_starts=64)),
     ("PPO", "MountainCar-v0", dict(n_steps=64, n_epochs=1))],
)  # fmt: skip
def test_stable_baselines_learns_on_it(algorithm, env, options):
    """Four environments in its vector; equal seeds give an agent equal to the byte."""
    library = pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.env_util import make_vec_env

    find_spec(f"rlfabric/{env}")

    def learned(seed):
        envs = make_vec_env(f"rlfabric/{env}", 4, seed=seed)
        options_of = dict(options, seed=seed, device="cpu")
        agent = getattr(library, algorithm)("MlpPolicy", envs, **options_of)
        before = _weights(agent)
        agent.learn(300)
        envs.close()
        assert agent.num_timesteps >= 300 and _weights(agent) != before
        return _weights(agent)

    assert learned(0) == learned(0) != learned(1)


def _weights(agent):
    return b"".join(each.detach().numpy().tobytes() for each in agent.policy.parameters())
