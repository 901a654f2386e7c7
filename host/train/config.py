"""Configs of training runs: a class for each kind of experience from which algorithms learn."""

from dataclasses import dataclass
from typing import Annotated

from host.actors.messages import message_launches
from host.learners.designs import learner_of
from host.memory import MEMORIES
from host.rules import (
    FRACTION,
    Choice,
    Integer,
    Number,
    check_choice,
)
from host.runtime.experience import record_dtype
from host.runtime.program import aligned
from host.train.run_config import RunConfig, spec_of
from hw.config import check_range
from hw.errors import UsageError
from hw.fa3c.config import MOST_AGENTS, MOST_SNAPSHOTS, SLOTS, Fa3cConfig
from hw.fa3c.records import AGENTS
from hw.fa3c.sharing import SHARINGS
from hw.learner.block.layer_config import MAX_WIDTH

__all__ = ["CONFIGS", "OffPolicyConfig", "OnPolicyConfig", "RoundsConfig"]

#: most batches that a launch draws for learner cpu
_BATCHES = 64

#: most steps of an actor's message
_MOST_STEPS = 4096


@dataclass(frozen=True, kw_only=True)
class OffPolicyConfig(RunConfig):
    """The config of a run that learns from a replay memory; the defaults are dqn's on the CPU."""

    LEARNS_FROM, DESIGN = "replay", "replay"

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
    #: Priority of a new experience: the largest so far, or by the TD error that the policy computes
    #: with the weights it acts by, without target networks (dqn, ddpg, td3).
    first_priority: Annotated[str, Choice(("largest", "td_error"))] = "largest"
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

    @property
    def _stored(self):
        """Experiences in the card's replay memory. If it is not used, the kernel has the least,
        which is a batch."""
        return self.capacity if self.memory == "card" else max(2, self.agent.batch_size)

    def sizes(self, spec):
        values = {"replay.capacity": self._stored}
        if self.learner != "card":
            return values
        spec = spec or spec_of(self)
        if spec.dtype != "float32":
            raise UsageError(
                f"env must have observations that are not images with learner card, not "
                f"{' x '.join(map(str, spec.shape))} bytes of {self.env!r} (--learner cpu takes "
                "them)"
            )
        most = MAX_WIDTH - (0 if spec.discrete else spec.action_count)
        if spec.size > most:
            raise UsageError(
                f"env must have observations of at most {most} numbers on the card, not "
                f"{spec.size} of {self.env!r} (learner cpu takes any)"
            )
        return values | {
            "learner.algorithm": self.algorithm.name,
            "learner.observation": spec.size,
            "learner.action": spec.action_count,
        }

    def stored_bytes(self, spec, kernel, board):
        if not board.joins:
            return None
        size = aligned(record_dtype(spec.fields).itemsize, kernel.engine.beat_bytes)
        return self._stored * size

    #: With actors: launches of a message; None: those of 64 steps, at least one.
    launches_per_message: Annotated[int | None, Integer(1, 1 << 12)] = None

    def message_launches(self, size=1):
        """Launches of an actor's message: ``launches_per_message``, or what it stands for with
        experiences of ``size`` bytes."""
        steps = self.env_count * self.steps_per_launch
        return self.launches_per_message or message_launches(steps, size)

    @property
    def message_steps(self):
        return self.message_launches() * self.env_count * self.steps_per_launch

    @property
    def actor_td_errors(self):
        return self.first_priority == "td_error"

    def identity(self):
        # Without the default of first_priority, so that checkpoints from before this field go on.
        found = super().identity()
        if not self.actor_td_errors:
            del found["first_priority"]
        return found

    def _check_first_priority(self):
        if not self.actor_td_errors:
            return
        where = why = None
        if not self.algorithm.policy.TD_ERRORS:
            where, why = f"for {self.algo}", "its policy computes no TD errors"
        elif self.memory == "ring":
            where, why = "with memory ring", "it has no priorities"
        elif self.act == "card":
            where, why = "with act card", "the host has no weights of its own"
        if where:
            raise UsageError(
                f"first_priority must be largest {where}, not {self.first_priority!r}: {why}"
            )
        precision = getattr(self.agent, "precision", "float32")
        if self.learner == "cpu" and precision != "float32":
            raise UsageError(
                "precision must be float32 with first_priority td_error and learner cpu, not "
                f"{precision!r}: TD errors of new experiences are computed in binary32"
            )

    def _check_acting(self):
        self._check_actors(self.env_count, "env_count")
        if not self.actors:
            if self.launches_per_message is not None:
                raise UsageError(
                    "launches_per_message must be none without actors, not "
                    f"{self.launches_per_message}"
                )
            return
        most = max(1, _MOST_STEPS // (self.env_count * self.steps_per_launch))
        why = f" ({_MOST_STEPS} steps of a message)"
        check_range("launches_per_message", self.message_launches(), 1, most, why)
        if self.act != "cpu":
            raise UsageError(f"act must be cpu with actors, not {self.act!r}")
        precision = getattr(self.agent, "precision", "float32")
        if self.learner == "cpu" and precision != "float32":
            raise UsageError(
                f"precision must be float32 with actors and learner cpu, not {precision!r}: actors "
                "compute in binary32"
            )

    def __post_init__(self):
        super().__post_init__()
        self._check_acting()
        self._check_first_priority()
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

    LEARNS_FROM, DESIGN = "rollouts", "gae"

    algo: str = "ppo"
    steps: int = 100_000
    #: Device of the gradient steps: cpu, or torch's name of another, such as cuda.
    device: str = "cpu"
    #: Steps of each environment in a rollout, 2 or more.
    steps_per_launch: Annotated[int, Integer(2, 1 << 12)] = 128
    evaluation_interval_steps: int = 5 * 1024
    log_interval_steps: int = 1024
    checkpoint_interval_steps: int = 50 * 1024

    @property
    def message_steps(self):
        return self.env_count * self.steps_per_launch

    def sizes(self, spec):
        # HEPPO's 64 rows fit on every board; further environments are estimated after these.
        return {"gae.rows": min(self.env_count, 64)}

    def __post_init__(self):
        super().__post_init__()
        self._check_actors(self.env_count, "env_count")
        samples = self.env_count * self.steps_per_launch
        why = " (steps of a rollout, all environments together)"
        check_range("batch_size", self.agent.batch_size, 1, samples, why)


@dataclass(frozen=True, kw_only=True)
class RoundsConfig(RunConfig):
    """The config of a run of agents that act and are trained in rounds (FA3C)."""

    LEARNS_FROM, DESIGN = "rounds", "a3c"

    algo: str = "a3c"
    #: Agents of all populations together; each has an environment of its own.
    env_count: int = 32
    #: Populations that take turns: the environments of one are stepped while rounds of the others
    #: are under way.
    populations: Annotated[int, Integer(1, 8)] = 2
    #: Agents of a population that share a snapshot and are stepped together; none: a quarter of the
    #: population, on every kernel, so that a run's results are the same on all of them.
    group: Annotated[int | None, Integer(1, AGENTS)] = None
    #: How agents share theta. a3c: a rollout and its training have the theta of its beginning.
    #: ga3c: all tasks of a round have the theta that the population's round before left. paac: one
    #: training learns from all agents, at most 8 and 32 samples, which are one group.
    sharing: Annotated[str, Choice(SHARINGS)] = "a3c"
    #: Learner cpu: device of the gradient steps, cpu or torch's name of another.
    device: str = "cpu"

    def __post_init__(self):
        super().__post_init__()
        if self.env_count % self.populations:
            raise UsageError(
                f"env_count must be a multiple of {self.populations} (populations), "
                f"not {self.env_count!r}"
            )
        # As many agents as a population has are reserved for values of other observations, and one
        # snapshot for evaluations.
        most = MOST_AGENTS * self.populations // (self.populations + 1)
        why = f" with {self.populations} populations"
        check_range("env_count", self.env_count, self.populations, most, why)
        if self.sharing == "ga3c" and self.learner != "card":
            # Learner cpu would compute the inputs of layers again, by the theta of the training.
            raise UsageError(f"learner must be card with sharing ga3c, not {self.learner!r}")
        if self.sharing == "paac":
            self._check_merged()
        if self.group is not None:
            why = " (agents of a population)"
            check_range("group", self.group, 1, self.population, why)
        if self.snapshots * self.populations >= MOST_SNAPSHOTS:
            raise UsageError(
                f"group must make at most {MOST_SNAPSHOTS - 1} groups in all populations, with a "
                f"snapshot each, not {self.groups * self.populations}"
            )
        self._check_actors(self.groups * self.populations, "groups of all populations")
        if self.learner == "card" and self.device != "cpu":
            raise UsageError(f"device must be cpu with learner card, not {self.device!r}")

    def _check_merged(self):
        """The rules of sharing paac."""
        for name, value in (("populations", 1), ("group", None)):
            if getattr(self, name) != value:
                raise UsageError(
                    f"{name} must be {value} with sharing paac, not {getattr(self, name)!r}"
                )
        steps = self.agent.batch_size
        most, why = min(AGENTS, SLOTS // steps), f" with sharing paac and batch_size {steps}"
        check_range("env_count", self.env_count, 1, most, why)

    @property
    def kernel(self):
        return self.DESIGN if self.learner == "card" else None

    def sizes(self, spec):
        spec = spec or spec_of(self)
        height, width, channels = spec.image
        tasks = 3 * self.groups + 8  # snapshots, values of truncated ends, inferences, trainings
        return {
            "height": height,
            "width": width,
            "channels": channels,
            "binary32": spec.dtype == "float32",
            "input_exponent": spec.exponent,
            "convolutions": self.agent.convolutions_for(spec),
            "outputs": spec.action_count + 1,
            "batch": self.group_size,
            # The last numbers, as many as a population has, are no agents: see RoundLearner.
            "agents": self.env_count + self.population,
            "snapshots": self.populations * self.snapshots + 1,
            "tasks": max(tasks, Fa3cConfig.tasks),
            "steps": self.samples,
        }

    @property
    def population(self):
        """Agents of a population."""
        return self.env_count // self.populations

    @property
    def group_size(self):
        """Agents of a group: ``group``, or, if it is None, a quarter of the population, but at
        least 2 and at most 8. The last group of a population may have fewer. With sharing paac all
        agents are one group."""
        if self.sharing == "paac":
            return self.population
        return self.group or min(AGENTS, self.population, max(2, self.population // 4))

    @property
    def groups(self):
        """Groups of a population."""
        return -(-self.population // self.group_size)

    @property
    def snapshots(self):
        """Snapshots of a population."""
        return {"a3c": self.groups, "ga3c": 2, "paac": 1}[self.sharing]

    @property
    def samples(self):
        """Samples of a training, at most."""
        return self.agent.batch_size * (self.population if self.sharing == "paac" else 1)


#: ``Algorithm.learns_from`` -> config of its runs
CONFIGS = {kind.LEARNS_FROM: kind for kind in (OffPolicyConfig, OnPolicyConfig, RoundsConfig)}
