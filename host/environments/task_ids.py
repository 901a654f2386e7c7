"""Ids of tasks, environments in fixed point that are programs, in gymnasium's registry, and their
programs.

Importing this module registers them; it imports nothing that takes time, so the ids' classes are
named by texts. ``register_shipped`` is an entry point of the group ``gymnasium.envs`` as well, for
programs that ask for these: gymnasium 1 by itself does not.
"""

import importlib
from functools import cache

from gymnasium.envs import registration

from host.modules import current_folder
from host.summaries import NAMESPACE, TASKS

__all__ = ["counterpart", "find_task", "is_task", "program_of", "register_shipped"]
__all__ += ["register_task"]

#: the package of the tasks, which like this one is below rlfabric in a wheel
_PACKAGE = ".".join([*__package__.split(".")[:-2], "hw", "environment", "tasks"])


def register_shipped():
    """Registers ``rlfabric/CartPole-v1`` and the other tasks of rlfabric, once."""
    for name, (place, limit, threshold) in TASKS.items():
        _register(f"{NAMESPACE}/{name}", f"{_PACKAGE}.{place}", limit, threshold)


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
    """The Task's class for the id ``name`` of TASKS."""
    module, _, kind = f"{_PACKAGE}.{TASKS[name][0]}".partition(":")
    return getattr(importlib.import_module(module), kind)


@cache
def program_of(task):
    """``(Task, Program)`` of a subclass of Task, or of its place ``MODULE:CLASS``."""
    # An id needs none of the machine's instructions.
    from hw.environment.task import trace
    from hw.environment.task_program import assemble

    if isinstance(task, str):
        module, _, name = task.partition(":")
        with current_folder():
            task = getattr(importlib.import_module(module), name)
    made = task()
    return made, assemble(trace(made))


def counterpart(id):
    """The id of gymnasium's environment whose physics the shipped task ``id`` has, such as
    ``CartPole-v1`` of ``rlfabric/CartPole-v1``; ``id`` itself if it names no such task."""
    namespace, _, name = id.rpartition("/")
    return name if namespace == NAMESPACE and name in TASKS else id


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
