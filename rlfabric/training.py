"""Names for a training loop of your own: environments, n-step, the learning memory, checkpoints.

>>> envs = make_envs("CartPole-v1", 2)
>>> actor, spec = Actor(envs, seed=0), Spec.of(envs)
>>> windows = NStep(2, 3, 0.99, spec)  # of 2 environments, 3 steps
>>> kernel = load_kernel("dqn", observation=4, action=2, hidden=(16,), batch=8, capacity=1024)
>>> memory = LearningReplay(kernel, capacity=1000)
>>> layers = [(np.ones((16, 4)) / 4, np.zeros(16)), (np.ones((2, 16)) / 16, np.zeros(2))]
>>> memory.initialize({"q": layers})
>>> for _ in range(16):
...     transitions, episodes = actor.step(memory.act(actor.obs).argmax(1))
...     experiences = windows.push(transitions)
...     if len(experiences):
...         memory.step(experiences)
>>> adam = hyperparameter_records(1, rate=1e-3, floor=1e-8, scale=1 / 8, beta=0.4, clip=1.0,
...                               first_decay=0.9, second_decay=0.999, blend=0.01)
>>> learned = memory.learn(adam, batch_size=8, store=["online"])
>>> sorted(learned.parameters), len(learned.reports)
(['q'], 1)
>>> save_checkpoint("own.npz", {"steps": 16}, {"memory": memory.state_dict()})
>>> config, state = load_checkpoint("own.npz")
>>> memory.load_state_dict(state["memory"]), config
(None, {'steps': 16})
>>> envs.close(), kernel.card.close()
(None, None)
"""

from collections.abc import Mapping
from os import PathLike

from gymnasium.vector import VectorEnv

from host import checkpoint
from host.algorithms.registry import find
from host.collect import environment
from host.collect.environment import Actor, Transitions
from host.collect.nstep import NStep
from host.collect.spec import Spec
from host.runtime.hyperparameters import hyperparameter_records
from host.runtime.learned import Learned, Trained
from host.runtime.learner import LearningReplay, learner_fields
from rlfabric.kernels import load_kernel
from rlfabric.policy import Evaluation, evaluate

__all__ = [
    "Actor",
    "Evaluation",
    "Learned",
    "LearningReplay",
    "NStep",
    "Spec",
    "Trained",
    "Transitions",
    "evaluate",
    "hyperparameter_records",
    "learner_fields",
    "load_checkpoint",
    "load_kernel",
    "make_envs",
    "save_checkpoint",
]

_KIND = "program"


def make_envs(env: str, count: int, *, algorithm: str = "dqn") -> VectorEnv:
    """A vector environment of ``count`` copies of ``env``, as ``algorithm``, an algorithm's name,
    takes them: observations are flattened to vectors, unless the algorithm takes images. ``Actor``
    steps it.

    ``env``: gymnasium's id, or MODULE:ID. UsageError if the algorithm does not take the action
    space, or the environment cannot be made.
    """
    made: VectorEnv = environment.make_envs(env, count, find(algorithm))
    return made


def save_checkpoint(
    path: str | PathLike[str], config: Mapping[str, object], state: Mapping[str, object]
) -> None:
    """Writes ``state``, nested dicts and lists of arrays and JSON values, to a file, without
    pickle. A file at ``path`` is replaced only when the new one is complete.

    ``config``: JSON values that describe to what the state belongs; ``load_checkpoint`` can compare
    them.
    """
    checkpoint.save(path, _KIND, config, state)


def load_checkpoint(
    path: str | PathLike[str], expected: Mapping[str, object] | None = None
) -> tuple[dict[str, object], dict[str, object]]:
    """Reads ``(config, state)`` that ``save_checkpoint`` wrote. CheckpointError if the file is
    absent or damaged, or if ``expected`` is given and its config differs from it; the message names
    each field that differs."""
    return checkpoint.load(path, _KIND, expected)
