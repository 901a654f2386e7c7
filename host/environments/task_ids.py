"""Ids of tasks, environments in fixed point that are programs, in gymnasium's registry.

Importing this module registers them; it imports nothing that takes time, so the ids' classes are
named by texts. ``register_shipped`` is an entry point of the group ``gymnasium.envs`` as well, for
programs that ask for these: gymnasium 1 by itself does not.
"""

import importlib

from gymnasium.envs import registration

__all__ = ["NAMESPACE", "SHIPPED", "find_task", "is_task", "register_shipped", "register_task"]
__all__ += ["counterpart"]

NAMESPACE = "rlfabric"
#: id without its namespace -> the task's place, its limit of steps and its threshold
SHIPPED = {
    "CartPole-v1": ("cartpole:CartPole", 500, 475.0),
    "MountainCar-v0": ("mountain_car:MountainCar", 200, -110.0),
    "Pendulum-v1": ("pendulum:Pendulum", 200, -200.0),
}
#: the package of the tasks, which like this one is below rlfabric in a wheel
_TASKS = ".".join([*__package__.split(".")[:-2], "hw", "environment", "tasks"])


def register_shipped():
    """Registers ``rlfabric/CartPole-v1`` and the other tasks of rlfabric, once."""
    for name, (place, limit, threshold) in SHIPPED.items():
        _register(f"{NAMESPACE}/{name}", f"{_TASKS}.{place}", limit, threshold)


def register_task(id, task):
    """Registers a task of one's own.

    Parameters
    ----------
    id : str
        The environment's id, such as ``my/Lander-v0``.
    task : type
        A subclass of ``hw.environment.task.Task``, which the module of the id defines.

    ``gymnasium.make``, ``gymnasium.make_vec`` and ``rlfabric train --env MODULE:ID`` find it then.
    """
    _register(id, task, task.limit, task.threshold)


def find_task(name):
    """The Task's class for the id ``name`` of SHIPPED."""
    module, _, kind = f"{_TASKS}.{SHIPPED[name][0]}".partition(":")
    return getattr(importlib.import_module(module), kind)


def counterpart(id):
    """The id of gymnasium's environment whose physics the shipped task ``id`` has, such as
    ``CartPole-v1`` of ``rlfabric/CartPole-v1``; ``id`` itself if it names no such task."""
    namespace, _, name = id.rpartition("/")
    return name if namespace == NAMESPACE and name in SHIPPED else id


def is_task(spec):
    """Whether a ``gymnasium.EnvSpec`` is of a task."""
    return spec.entry_point == f"{__package__}.tasks:TaskEnv"


def _register(id, task, limit, threshold):
    if id not in registration.registry:
        registration.register(
            id,
            entry_point=f"{__package__}.tasks:TaskEnv",
            vector_entry_point=f"{__package__}.tasks:TaskVectorEnv",
            reward_threshold=threshold,
            max_episode_steps=limit,
            kwargs={"task": task},
        )


register_shipped()
