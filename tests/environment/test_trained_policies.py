"""Trained policies return the same in tasks as in gymnasium's environments."""

import gymnasium
import numpy as np
import pytest
from environment.task_cases import returns
from environment.trained import POLICIES, path_of

from host.agents.policy_file import load_policy
from host.environments.task_ids import counterpart, find_task
from host.environments.tasks import TaskVectorEnv

#: id -> the least mean return, and the largest difference of the means
BARS = {
    "CartPole-v1": (475, 0.03),
    "MountainCar-v0": (-110, 0.05),
    "Pendulum-v1": (-200, 0.05),
}
#: the other policies of CartPole are in the long tests
_QUICK = ("cartpole_4", "mountain_car", "pendulum")


def started(name, count):
    """``count`` environments of the task and of gymnasium, from the same states, and these states'
    observations."""
    task = find_task(name)
    ours = TaskVectorEnv(count, task)
    theirs = gymnasium.make_vec(name, count, vectorization_mode="sync")
    obs, _ = ours.reset(seed=0)
    theirs.reset(seed=0)
    for words, env in zip(ours._twin.state.T, theirs.envs, strict=True):
        pairs = zip(task.formats.values(), words, strict=True)
        env.unwrapped.state = np.array([form.to_float(word) for form, word in pairs])
    return ours, theirs, obs


@pytest.mark.parametrize(
    "policy",
    [pytest.param(name, marks=() if name in _QUICK else pytest.mark.long) for name in POLICIES],
)
def test_a_trained_policy_returns_the_same_in_both(policy):
    """Over 100 episodes. Three of CartPole's have learned in the task, two in gymnasium's."""
    policy, info = load_policy(path_of(policy))
    name = counterpart(info["env"])
    *worlds, obs = started(name, 100)
    ours, theirs = (
        returns(envs, obs, lambda obs: policy.spec.applied(policy.act(obs, greedy=True)))
        for envs in worlds
    )
    least, apart = BARS[name]
    print(info["env"], ours.mean(), theirs.mean())
    assert min(ours.mean(), theirs.mean()) >= least
    assert ours.mean() == pytest.approx(theirs.mean(), rel=apart)
