"""Steps a second of tasks, environments in fixed point that are programs, and of gymnasium's own
environments in a SyncVectorEnv, on one core in the same run."""

import time
from functools import partial

import gymnasium

from bench import medians, row
from host.environments.task_ids import find_task
from host.environments.tasks import TaskVectorEnv

__all__ = ["BARS", "rows"]

NAMES = ("CartPole-v1", "MountainCar-v0", "Pendulum-v1")
#: environments -> the bar: as many times gymnasium's steps a second
BARS = {64: 20, 4096: 100}
_ROUNDS, _STEPS = 5, 40_000
_SOURCE = f"process time of one thread in this run, median of {_ROUNDS}, taken in turn"


class _Loop:
    """Steps ``envs`` with random actions, which are drawn before."""

    def __init__(self, envs):
        self._envs = envs
        envs.action_space.seed(0)
        self._actions = [envs.action_space.sample() for _ in range(16)]
        envs.reset(seed=0)
        self.count = envs.num_envs

    def run(self, steps):
        """Steps the vector environment ``steps`` times."""
        for step in range(steps):
            self._envs.step(self._actions[step % 16])


def rows(area=False):
    """The list of rows steps_per_s, with gymnasium's as reference, and times, their quotient, of
    each task for each number of environments. ``area`` adds nothing."""
    result = []
    for name in NAMES:
        task = find_task(name)
        for count in BARS:
            ours = _Loop(TaskVectorEnv(count, task))
            theirs = _Loop(gymnasium.make_vec(name, count, vectorization_mode="sync"))
            often = {"ours": max(_STEPS * 20 // count, 4), "theirs": max(_STEPS // count // 4, 2)}
            loops = {
                "ours": partial(ours.run, often["ours"]),
                "theirs": partial(theirs.run, often["theirs"]),
            }
            took = medians(loops, rounds=_ROUNDS, calls=1, clock=time.process_time)
            rate = {each: often[each] * count / took[each] for each in took}
            case = f"rlfabric/{name}, {count} environments"
            result.append(
                row("tasks", case, "steps_per_s", round(rate["ours"]), "steps/s",
                    reference=f"SyncVectorEnv, gymnasium {gymnasium.__version__}",
                    reference_value=round(rate["theirs"]), source=_SOURCE)
            )  # fmt: skip
            result.append(
                row("tasks", case, "times", round(rate["ours"] / rate["theirs"], 1), "times",
                    reference="bar, at least", reference_value=BARS[count], source=_SOURCE)
            )  # fmt: skip
    return result
