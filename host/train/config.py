"""Configs of training runs; a config does not name the card of the run."""

from dataclasses import dataclass, replace
from typing import Annotated

from host.algorithms.config import LearningConfig
from host.algorithms.registry import ALGORITHMS
from host.learners.designs import learner_of
from host.memory import MEMORIES
from host.rules import (
    FINITE,
    FRACTION,
    POSITIVE,
    Choice,
    Flag,
    Integer,
    Number,
    check_choice,
    check_fields,
)
from hw.config import ConfigBase, check_range
from hw.errors import UsageError

__all__ = ["CONFIGS", "LEARNERS", "OffPolicyConfig", "OnPolicyConfig", "RoundsConfig", "RunConfig"]

#: name -> explanation
LEARNERS = {
    "cpu": "the CPU trains; the card draws batches (kernel replay, if the replay memory is there), "
    "or for ppo estimates advantages (kernel gae)",
    "card": "the card trains too, with the kernel of the algorithm's name, if there is one",
}

#: fields that may change when a run is resumed: they decide when it ends, and what it records
_FREE = (
    "steps",
    "until_solved",
    "threshold",
    "evaluation_steps",
    "log_interval_steps",
    "checkpoint_interval_steps",
    "checkpoint_interval_s",
)


_INTERVAL = Integer(1, 1 << 40)

#: most batches that a launch draws for learner cpu
_BATCHES = 64

#: most agents and snapshots of a kernel ``a3c``. As many agents as a population has are reserved
#: for values of other observations, and one snapshot for evaluations.
_PLACES, _SNAPSHOTS = 256, 32


@dataclass(frozen=True, kw_only=True)
class RunConfig(ConfigBase):
    """The base class of configs of training runs, with the fields that all runs have. A subclass is
    for the algorithms whose ``learns_from`` equals the subclass's ``LEARNS_FROM``."""

    LEARNS_FROM = None

    #: Learning algorithm.
    algo: str
    #: What trains: the CPU, or the card.
    learner: Annotated[str, Choice(tuple(LEARNERS))] = "cpu"
    #: Id of a gymnasium environment, or MODULE:ID; the algorithm must take its actions.
    env: str = "CartPole-v1"
    #: Environment steps of all actors together, rounded up to whole launches.
    steps: Annotated[int, Integer(1, 1 << 40)] = 200_000
    #: Stop once the environment is solved and a second evaluation confirms it.
    until_solved: Annotated[bool, Flag()] = False
    #: Mean return that counts as solved; None: the environment's own.
    threshold: Annotated[float | None, FINITE] = None
    #: Seed of everything random: weights, exploration, environments, draws, evaluation.
    seed: Annotated[int, Integer(0, (1 << 63) - 1)] = 0
    #: Environments that collect, stepped together.
    env_count: Annotated[int, Integer(1, 1 << 12)] = 8
    #: Environment steps of all actors together from one greedy evaluation to the next. An
    #: evaluation follows the launch that passes a multiple of this number.
    evaluation_interval_steps: Annotated[int, _INTERVAL] = 800
    #: Episodes of an evaluation.
    evaluation_episodes: Annotated[int, Integer(1, 1 << 12)] = 20
    #: Steps after which an episode of an evaluation is broken off if it has not ended before.
    evaluation_steps: Annotated[int, _INTERVAL] = 100_000
    #: Environment steps from one row of progress.csv to the next; an evaluation has its own row.
    log_interval_steps: Annotated[int, _INTERVAL] = 800
    #: Environment steps from one checkpoint to the next.
    checkpoint_interval_steps: Annotated[int, _INTERVAL] = 40_000
    #: Seconds from one checkpoint to the next, if they pass before those steps.
    checkpoint_interval_s: Annotated[float, POSITIVE] = 60.0

    #: The agent's config; None: the algorithm's defaults.
    agent: LearningConfig | None = None

    def __post_init__(self):
        self._check_algo(self.algo)
        if self.agent is None:
            object.__setattr__(self, "agent", self.algorithm.config())
        check_fields(self)
        if type(self.agent) is not self.algorithm.config:
            raise UsageError(
                f"agent must be a {self.algorithm.config.__name__} for {self.algo}, "
                f"not {self.agent!r}"
            )
        if not isinstance(self.env, str) or not self.env:
            raise UsageError(f"env must be the id of a gymnasium environment, not {self.env!r}")
        if self.learner not in self.algorithm.learners:
            raise UsageError(
                f"learner must be {' or '.join(self.algorithm.learners)} for {self.algo}, "
                f"not {self.learner!r}"
            )

    def in_run(self, steps=None):
        """This config with a length for every schedule of the agent, for a run of ``steps``
        environment steps; None: of the config's own ``steps``."""
        return replace(self, agent=self.agent.in_run(self.steps if steps is None else steps))

    @classmethod
    def algorithms(cls):
        """Names of the algorithms whose runs this class describes."""
        return [name for name, each in ALGORITHMS.items() if each.learns_from == cls.LEARNS_FROM]

    @classmethod
    def _check_algo(cls, algo):
        """ValueError, with the known names, unless this class describes runs of ``algo``."""
        known = isinstance(algo, str) and algo in ALGORITHMS  # imports nothing for other names
        if not known or ALGORITHMS[algo].learns_from != cls.LEARNS_FROM:
            check_choice("algo", algo, cls.algorithms())

    @property
    def algorithm(self):
        return ALGORITHMS[self.algo]

    @classmethod
    def from_dict(cls, values):
        agent, algo = values.get("agent"), values.get("algo", cls.algo)
        cls._check_algo(algo)
        if isinstance(agent, dict):
            values = {**values, "agent": ALGORITHMS[algo].config.from_dict(agent)}
        return super().from_dict(values)

    def identity(self):
        """A dict of the fields, as JSON values, that a resumed run must share with its
        checkpoint."""
        return {name: value for name, value in self.to_dict().items() if name not in _FREE}


@dataclass(frozen=True, kw_only=True)
class OffPolicyConfig(RunConfig):
    """The config of a run that learns from a replay memory; the defaults are dqn's on the CPU."""

    LEARNS_FROM = "replay"

    algo: str = "dqn"
    #: Learner card: the kernel that trains; own: the one of the algorithm's name.
    design: str = "own"
    #: Replay memory: card and tree draw by priority, ring uniformly; tree and ring are on the CPU,
    #: and with learner cpu no card is used then.
    memory: Annotated[str, Choice(tuple(MEMORIES))] = "card"
    #: Steps of each environment for one launch.
    steps_per_launch: Annotated[int, Integer(1, 1 << 12)] = 1
    #: Learner cpu: device of the gradient steps, cpu or torch's name of another, such as cuda.
    device: str = "cpu"
    #: What computes the actions, also in evaluations: the CPU, or with learner card the card.
    act: Annotated[str, Choice(("cpu", "card"))] = "cpu"
    #: Launches that may be under way while the environments are stepped.
    launches_in_flight: Annotated[int, Integer(1, 64)] = 1
    #: Gradient steps for one launch, with learner cpu at most 64. A launch has ``env_count`` times
    #: ``steps_per_launch`` environment steps, so both numbers give the ratio of gradient steps to
    #: environment steps. All gradient steps of a launch have the step size and the beta of its
    #: beginning. With learner cpu all batches of a launch are drawn before its first gradient step,
    #: so new priorities count from the next launch on.
    updates_per_launch: Annotated[int, Integer(1, 1 << 12)] = 1
    #: Learner card: launches from one fetch of the weights that act to the next.
    weights_interval: Annotated[int, Integer(1, 1 << 31)] = 1
    #: Experiences that the replay buffer holds.
    capacity: Annotated[int, Integer(2, 1 << 30)] = 1 << 15
    #: Exponent of the priorities. With memory ring neither alpha nor priority_epsilon nor the
    #: agent's beta has an effect.
    alpha: Annotated[float, FRACTION] = 0.6
    #: Number that is added to the magnitude of a TD error before it becomes a priority.
    priority_epsilon: Annotated[float, Number("in (0, 1]", lambda x: 0 < x <= 1)] = 0.01
    #: Experiences in the buffer before learning starts: batch_size to capacity.
    learning_starts: int = 1000

    @property
    def kernel(self):
        """Name of the kernel's design: replay with learner cpu, else ``design`` or the algorithm's
        name. It is never MODULE:NAME, as ``algo`` may be. None if neither memory nor learner is on
        the card."""
        if self.learner == "cpu":
            return "replay" if self.memory == "card" else None
        return self.algorithm.name if self.design == "own" else self.design

    def __post_init__(self):
        super().__post_init__()
        batch = self.agent.batch_size
        check_range("batch_size", batch, 1, self.capacity, " (capacity)")
        why = " (batch_size..capacity)"
        check_range("learning_starts", self.learning_starts, batch, self.capacity, why)
        if self.learner == "card":
            check_choice("design", self.design, ("own", *self.algorithm.designs))
            learner_of(self.kernel).check_agent(self.agent, self.kernel)
            only = {"device": "cpu"}
        else:
            only = {"design": "own", "act": "cpu", "weights_interval": 1}
            check_range("updates_per_launch", self.updates_per_launch, 1, _BATCHES, " on the CPU")
        for name, wanted in only.items():
            value = getattr(self, name)
            if value != wanted:
                raise UsageError(
                    f"{name} must be {wanted} with learner {self.learner}, not {value!r}"
                )
        if self.act == "card" and self.weights_interval != 1:
            raise UsageError(
                f"weights_interval must be 1 with act card, not {self.weights_interval!r}"
            )


@dataclass(frozen=True, kw_only=True)
class OnPolicyConfig(RunConfig):
    """The config of a run that learns from one rollout at a time, in several epochs of minibatches,
    and then drops it; a rollout is ``steps_per_launch`` steps of each environment."""

    LEARNS_FROM = "rollouts"

    algo: str = "ppo"
    steps: int = 100_000
    #: Device of the gradient steps: cpu, or torch's name of another, such as cuda.
    device: str = "cpu"
    #: Steps of each environment in a rollout, 2 or more.
    steps_per_launch: Annotated[int, Integer(2, 1 << 12)] = 128
    evaluation_interval_steps: int = 5 * 1024
    log_interval_steps: int = 1024
    checkpoint_interval_steps: int = 50 * 1024

    def __post_init__(self):
        super().__post_init__()
        samples = self.env_count * self.steps_per_launch
        why = " (steps of a rollout, all environments together)"
        check_range("batch_size", self.agent.batch_size, 1, samples, why)


@dataclass(frozen=True, kw_only=True)
class RoundsConfig(RunConfig):
    """The config of a run of agents that act and are trained in rounds (FA3C)."""

    LEARNS_FROM = "rounds"

    algo: str = "a3c"
    #: Agents of all populations together; each has an environment of its own.
    env_count: int = 32
    #: Populations that take turns: the environments of one are stepped while rounds of the others
    #: are under way.
    populations: Annotated[int, Integer(1, 8)] = 2
    #: Agents of a population that share a snapshot and are stepped together; none: a quarter of the
    #: population.
    group: Annotated[int | None, Integer(1, 8)] = None
    #: Learner cpu: device of the gradient steps, cpu or torch's name of another.
    device: str = "cpu"

    def __post_init__(self):
        super().__post_init__()
        if self.env_count % self.populations:
            raise UsageError(
                f"env_count must be a multiple of {self.populations} (populations), "
                f"not {self.env_count!r}"
            )
        most = _PLACES * self.populations // (self.populations + 1)
        why = f" with {self.populations} populations"
        check_range("env_count", self.env_count, self.populations, most, why)
        if self.groups * self.populations >= _SNAPSHOTS:
            raise UsageError(
                f"group must make at most {_SNAPSHOTS - 1} groups in all populations, with a "
                f"snapshot each, not {self.groups * self.populations}"
            )
        if self.learner == "card" and self.device != "cpu":
            raise UsageError(f"device must be cpu with learner card, not {self.device!r}")

    @property
    def population(self):
        """Agents of a population."""
        return self.env_count // self.populations

    @property
    def group_size(self):
        """Agents of a group: ``group``, or, if it is None, a quarter of the population, but at
        least 2 and at most 8. The last group of a population may have fewer."""
        return self.group or min(8, self.population, max(2, self.population // 4))

    @property
    def groups(self):
        """Groups of a population."""
        return -(-self.population // self.group_size)


#: ``Algorithm.learns_from`` -> config of its runs
CONFIGS = {kind.LEARNS_FROM: kind for kind in (OffPolicyConfig, OnPolicyConfig, RoundsConfig)}
