"""Tasks in fixed point against gymnasium's environments in float64: single steps from states of the
whole range, and returns of the same policies in both."""

import math

import gymnasium
import numpy as np
import pytest
from environment.task_cases import SHIPPED, returns

from host.environments.task_ids import find_task
from host.environments.tasks import TaskVectorEnv
from hw.environment.task import trace
from hw.environment.task_program import assemble
from sim.model.environment.twin import Environments, seeded

BOUND = 2.0**-20
#: id -> bounds of the states that an episode can reach
RANGES = {
    "CartPole-v1": ([-2.4, -4, -0.2095, -4], [2.4, 4, 0.2095, 4]),
    "MountainCar-v0": ([-1.2, -0.07], [0.6, 0.07]),
    "Pendulum-v1": ([-math.pi, -8], [math.pi, 8]),
}
NAMES = tuple(RANGES)


def stepped(name, count):
    """A step of gymnasium's environment and of the task from ``count`` random states: dicts of
    arrays state, observation, reward, terminated."""
    rng = np.random.default_rng(count)
    task = find_task(name)()
    forms = list(task.formats.values())
    low, high = map(np.array, RANGES[name])
    states = rng.uniform(low, high, (count, len(low)))
    edge = rng.random(states.shape) < 0.02
    states = np.where(edge, np.where(rng.random(states.shape) < 0.5, low, high), states)
    words = np.stack([form.quantize(each)[0] for form, each in zip(forms, states.T, strict=True)])
    states = np.stack([form.to_float(each) for form, each in zip(forms, words, strict=True)], 1)
    if isinstance(task.actions, int):
        actions = rng.integers(task.actions, size=count)
    else:
        actions = rng.uniform(-2.5, 2.5, (count, 1)).astype(np.float32)
    ours = Environments(assemble(trace(task)), task.limit, task.actions, count)
    ours.state[:] = words
    seen, reward, terminated, *_ = ours.step(actions, autoreset=False)
    after = np.stack([form.to_float(each) for form, each in zip(forms, ours.state, strict=True)], 1)
    found = dict(state=after, observation=seen, reward=reward, terminated=terminated)
    env = gymnasium.make(name).unwrapped
    env.reset(seed=0)
    wanted = {key: [] for key in found}
    for state, action in zip(states, actions, strict=True):
        env.state, env.steps_beyond_terminated = state, None
        obs, gained, ended, *_ = env.step(action)
        for key, each in zip(wanted, (env.state, obs, gained, ended), strict=True):
            wanted[key].append(each)
    return found, {key: np.array(each) for key, each in wanted.items()}


def check_a_step(name, count):
    found, wanted = stepped(name, count)
    error = found["state"] - wanted["state"]
    if name == "Pendulum-v1":  # gymnasium's angle grows with each turn
        error[:, 0] -= 2 * math.pi * np.round(error[:, 0] / (2 * math.pi))
    worst = np.abs(error).max(0)
    rewards = np.abs(found["reward"] - wanted["reward"]).max()
    seen = np.abs(found["observation"] - wanted["observation"]).max()
    differ = (found["terminated"] != wanted["terminated"]).sum()
    print(name, count, "state", worst, "reward", rewards, "observation", seen, "ends", differ)
    assert max(*worst, rewards) <= BOUND and seen <= BOUND
    assert differ <= count * 1e-5
    assert wanted["terminated"].any() == (name != "Pendulum-v1")


@pytest.mark.parametrize("name", NAMES)
def test_episodes_begin_in_gymnasiums_range(name):
    """The least, the mean and the largest number of many first observations."""
    count, task = 2000, find_task(name)()
    ours = Environments(assemble(trace(task)), task.limit, task.actions, count)
    ours.generator[:] = seeded(range(count))
    env = gymnasium.make(name).unwrapped
    found, wanted = ours.reset(), np.stack([env.reset(seed=seed)[0] for seed in range(count)])
    width = np.ptp(wanted, axis=0)
    for each in (np.min, np.mean, np.max):
        error = np.abs(each(found, axis=0) - each(wanted, axis=0))
        assert (error <= 0.04 * width).all(), (each.__name__, error, width)


@pytest.mark.parametrize("name", NAMES)
def test_a_step_is_within_a_millionth_of_float64(name):
    check_a_step(name, 20_000)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_step_of_a_million_states(name):
    check_a_step(name, 1_000_000)


def balance(obs):
    """Pushes to the side to which a sum of all four numbers leans."""
    return (obs @ np.array([0.3, 0.6, 8.0, 2.0]) > 0).astype(np.int64)


def rush(obs):
    """Drives on in the direction of motion."""
    return np.where(obs[:, 1] < 0, 0, 2)


def swing(obs):
    """Pumps energy in until the pendulum is nearly upright; then a linear law."""
    cosine, sine, speed = obs.T
    energy = speed**2 / 6 + 5 * (cosine - 1)
    pumped = np.where(energy < 0, 2, -2) * np.sign(speed + 1e-9)
    held = -(10 * np.arctan2(sine, cosine) + 2 * speed)
    return np.clip(np.where(cosine > 0.9, held, pumped), -2, 2)[:, None].astype(np.float32)


@pytest.mark.long
@pytest.mark.parametrize(
    "name, act, least, relative",
    [("CartPole-v1", balance, 475, 0.03), ("MountainCar-v0", rush, -130, 0.05),
     ("Pendulum-v1", swing, -250, 0.05)],
)  # fmt: skip
def test_a_policy_has_the_same_return_in_both(name, act, least, relative):
    """Bars are of means: single trajectories part, as those of two float libraries do."""
    count = 1000
    ours = TaskVectorEnv(count, find_task(name))
    theirs = gymnasium.make_vec(name, count, vectorization_mode="sync")
    ours, theirs = (returns(envs, envs.reset(seed=0)[0], act) for envs in (ours, theirs))
    print(name, ours.mean(), theirs.mean())
    assert min(ours.mean(), theirs.mean()) >= least
    assert ours.mean() == pytest.approx(theirs.mean(), rel=relative)


def test_programs_are_short():
    """Instructions of a step, of which the machine does one in a clock for each environment."""
    counts = {kind.__name__: assemble(trace(kind())).reset_start for kind in SHIPPED}
    assert counts["CartPole"] <= 51 and counts["MountainCar"] <= 34 and counts["Pendulum"] <= 66
