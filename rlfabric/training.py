"""Names for a training loop of your own: environments, n-step, the learning memory, checkpoints;
and what a program of ``rlfabric compose --generate`` uses besides.

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

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from os import PathLike

from gymnasium.vector import VectorEnv

from host import checkpoint
from host.a3c.card_network import ActorCritic
from host.a3c.round_collector import RoundCollector
from host.a3c.round_learner import CardRounds, RoundLearner
from host.actors import placement
from host.actors.messages import message_bytes, message_launches
from host.advantages.advantage_learner import AdvantageLearner
from host.advantages.rollout import RolloutCollector
from host.agents.policy_file import save_policy
from host.agents.registry import find, find_named
from host.algorithms.algorithm import Algorithm
from host.algorithms.config import Clock, LearningConfig
from host.algorithms.learner import Background
from host.algorithms.policy import InferredPolicy
from host.environments import environment
from host.environments.environment import Actor, Transitions
from host.environments.spec import Spec
from host.fixar.fixar_learner import FixarLearner, NoisyPolicy, PrecisionSwitch
from host.fixar.fixar_replay import FixarReplay, SentFixarReplay
from host.learner.card_learner import CardLearner, steps_of
from host.learner.hyperparameters import hyperparameter_records
from host.learner.launch_results import Learned, Trained
from host.learner.learning_replay import LearningReplay, learner_fields
from host.learner.policy_weights import layers_of, set_weights
from host.learner.sent_replay import SentReplay
from host.replay.nstep import NStep, NStepCollector
from host.replay.replay_learner import ReplayLearner
from host.runs.actor_pool import ActorPool
from host.runs.blas_threads import single_threaded
from host.runs.judge import Judge
from host.runs.session import Seeds
from hw.config import check_range
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.schedule import Schedule
from rlfabric.kernels import load_kernel
from rlfabric.policy import Evaluation, evaluate
from system.cache import say

__all__ = [
    "Actor",
    "ActorCritic",
    "ActorPool",
    "AdvantageLearner",
    "Algorithm",
    "Background",
    "CardLearner",
    "CardRounds",
    "Clock",
    "Evaluation",
    "FixarLearner",
    "FixarReplay",
    "InferredPolicy",
    "Judge",
    "Learned",
    "LearningReplay",
    "NStep",
    "NStepCollector",
    "NoisyPolicy",
    "PrecisionSwitch",
    "ReplayLearner",
    "RolloutCollector",
    "RoundCollector",
    "RoundLearner",
    "Schedule",
    "Seeds",
    "SentFixarReplay",
    "SentReplay",
    "Spec",
    "Trained",
    "Transitions",
    "algorithm",
    "evaluate",
    "hyperparameter_records",
    "layers_of",
    "learner_fields",
    "load_checkpoint",
    "load_kernel",
    "make_envs",
    "open_actors",
    "round_schedule",
    "save_checkpoint",
    "save_policy",
    "set_weights",
    "single_threaded",
    "steps_of",
]

_KIND = "program"


def algorithm(name: str, *, program: str | PathLike[str] | None = None) -> Algorithm:
    """The descriptor of the algorithm called ``name``, one of ``rlfabric list``, ``MODULE:NAME`` or
    a trainer's ``FILE.py:CLASS``: its ``config``, ``policy`` and ``updater``. ``program``:
    a program's ``__file__``, if FILE.py is relative to its folder; None: to the current one.

    >>> agent = algorithm("dqn").config(hidden=(16,)).in_run(1000)
    >>> agent.epsilon_at(0), agent.epsilon_at(1000)
    (1.0, 0.05)

    UsageError if there is none.
    """
    if program is not None:
        name = os.path.relpath(os.path.join(os.path.realpath(os.path.dirname(program)), name))
    found: Algorithm = find_named(name)
    return found


def round_schedule(agents: int, group: int, steps: int) -> Schedule:
    """The schedule of a population of ``agents``, in groups of ``group``, with rollouts of
    ``steps``, for rounds that no kernel does; those of a kernel have
    ``Schedule(ActorCritic(kernel).config, agents, group)``.

    >>> round_schedule(8, 4, 5).period
    8
    """
    kernel = Fa3cConfig(batch=group, agents=agents, snapshots=-(-agents // group), steps=steps)
    return Schedule(kernel, agents, group)


def make_envs(env: str, count: int, *, algorithm: str = "dqn") -> VectorEnv:
    """A vector environment of ``count`` copies of ``env``, as ``algorithm``, an algorithm's name,
    takes them: observations are flattened to vectors, unless the algorithm takes images. ``Actor``
    steps it.

    ``env``: gymnasium's id, or MODULE:ID. UsageError if the algorithm does not take the action
    space, or the environment cannot be made.
    """
    made: VectorEnv = environment.make_envs(env, count, find(algorithm))
    return made


@contextmanager
def open_actors(
    algorithm: str,
    env: str,
    agent: LearningConfig,
    seeds: Seeds,
    *,
    count: int,
    env_count: int,
    steps: int = 1,
    launches: int | None = None,
    fixed: bool = False,
    inline: bool = False,
    address: str | None = None,
) -> Iterator[ActorPool]:
    """A context manager for ``count`` actors, which step ``env_count`` environments by
    ``algorithm``, with Ray (extra ``actors``); its value is an ActorPool. One of its methods
    returns what collects: ``experiences()``, ``rollouts()`` or ``rounds(sizes, schedule,
    populations=...)``; ``spec`` is the Spec of the environment.

    >>> dqn, seeds, clock = algorithm("dqn"), Seeds(0), Clock(total=1000)
    >>> agent = dqn.config(hidden=(16,)).in_run(1000)
    >>> told = dict(count=2, env_count=8, steps=3, inline=True)
    >>> with open_actors("dqn", "CartPole-v1", agent, seeds, **told) as pool:
    ...     actors, policy = pool.experiences(), dqn.policy(agent, pool.spec, weights=0)
    ...     experiences, episodes = actors.collect(policy, clock)
    >>> clock.steps, experiences["obs"].shape[1:]
    (24, (4,))

    Parameters
    ----------
    algorithm, env
        A name as of ``algorithm``; gymnasium's id, or MODULE:ID.
    agent
        The config of the agent, whose schedules have lengths (``in_run``).
    seeds
        Those of the program.
    steps
        Steps of each environment in a launch: in what one ``collect`` returns.
    launches
        Launches that an actor sends at once, of an algorithm with a replay memory; None: those of
        64 environment steps, at least one.
    fixed
        Whether messages are taken in turn, so that equal seeds give equal bytes.
    inline
        Whether the actors are in this process, one after another, without Ray, and ``fixed``.
    address
        HOST:PORT of a Ray cluster; None: this machine.

    UsageError for a wrong argument, MissingTool without Ray, Failure if the cluster cannot be
    joined, or if too many actors are lost.
    """
    check_range("count", count, 1, 256)
    with closing(make_envs(env, 1, algorithm=algorithm)) as like:
        options = placement.ActorOptions(address=address, inline=inline)
        many = (launches or message_launches(env_count * steps)) * env_count * steps
        size = message_bytes(Spec.of(like), many)
        with placement.open_actors(count, options, size) as actors:
            actors = replace(actors, report=lambda *loss: say(loss[-1]))
            pool = ActorPool(
                actors,
                algorithm,
                env,
                agent,
                like=like,
                seeds=seeds,
                count=count,
                env_count=env_count,
                steps=steps,
                launches=launches,
                fixed=fixed or inline,
            )
            with closing(pool):
                yield pool


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
