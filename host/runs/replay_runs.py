"""Runs that learn from a replay memory: their config, and the parts that differ."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from host.actors.messages import message_launches
from host.fixar.fixar_learner import FixarLearner
from host.learner.card_learner import CardLearner
from host.play.play_learner import PlayCollector, PlayLearner
from host.play.play_settings import PlaySettings, check_collect, task_of
from host.programs.launcher import aligned
from host.replay.cpu_memories import MEMORIES, memory_on_cpu
from host.replay.experience import record_dtype
from host.replay.nstep import NStep, NStepCollector
from host.replay.replay_learner import ReplayLearner
from host.rules import FRACTION, Choice, Integer, Number, check_choice
from host.runs.family import Family
from host.runs.run_config import RunConfig, spec_of
from hw.config import check_range, value_of
from hw.errors import UsageError
from hw.learner.block.layer_config import MAX_WIDTH

__all__ = ["OffPolicyConfig", "Replay", "learner_of"]

_LEARNERS = {None: ReplayLearner, "replay": ReplayLearner, "fixar": FixarLearner}


def learner_of(design):
    """The subclass of MemoryLearner for a run on a kernel of ``design``, a design's name:
    ReplayLearner for replay and for None, which is no kernel, FixarLearner for fixar, and
    CardLearner for all others."""
    return _LEARNERS.get(design, CardLearner)


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
    #: What steps the environments: this process, or with learner card the card, if it has a task of
    #: the environment. A launch is then all steps between two evaluations, with the gradient steps
    #: between: ``updates_per_launch`` after ``steps_per_launch`` steps of each environment.
    collect: Annotated[str, Choice(("cpu", "card"))] = "cpu"
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
    def learns_from_step(self):
        return self.learning_starts

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
        if self.collect == "card":
            task_of(self.env)
            longest = self.agent.n_step
            values |= {"play.environments": self.env_count, "play.longest": longest}
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
        # Without the defaults of later fields, so that checkpoints from before them go on.
        found = super().identity()
        if not self.actor_td_errors:
            del found["first_priority"]
        if self.collect == "cpu":
            del found["collect"]
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
        if self.collect == "card":
            check_collect(self)
        if self.act == "card" and self.weights_interval != 1:
            raise UsageError(
                f"weights_interval must be 1 with act card, not {self.weights_interval!r}"
            )


class Replay(Family):
    """The family of runs that learn from a replay memory. With learner cpu the card draws batches
    (kernel ``replay``); with learner card it trains, too (kernel ``config.kernel``). If the memory
    is not the card's, the card trains on the batches that it is sent, or there is none."""

    def factory(self, config, kernel):
        """Returns a callable: ``made(fields, *, capacity, alpha, epsilon, seed)`` makes the replay
        memory, on ``kernel`` or in front of it. ``fields`` are those of an experience, as
        ``Spec.fields``."""
        learner = PlayLearner if config.collect == "card" else learner_of(config.kernel)
        if config.memory == "card":
            return partial(learner.BUFFER, kernel)
        kind = memory_on_cpu(config.memory)
        if kernel is None:
            return kind

        def made(fields, **options):
            memory = kind(fields, **options)
            trainer = learner.BUFFER(kernel, fields, capacity=2)  # which nobody fills
            return learner.SENT(memory, trainer)

        return made

    def environments(self, config):
        return [config.env_count if config.collect == "cpu" else 1]

    def join(self, parts, factory):
        config, phases = parts.config, parts.phases
        memory = factory(
            parts.spec.fields,
            capacity=config.capacity,
            alpha=config.alpha,
            epsilon=config.priority_epsilon,
            seed=parts.seeds.buffer,
        )
        options = dict(
            learning_starts=config.learning_starts,
            updates_per_launch=config.updates_per_launch,
            launches_in_flight=config.launches_in_flight,
            phases=phases,
        )
        if config.learner == "card":
            self._check_kernel(config, parts.spec, memory.learner)
            seed = int(parts.seeds.agent[2].generate_state(1, np.uint64)[0])
            options |= dict(weights_interval=config.weights_interval, act=config.act, seed=seed)
            if config.collect == "card":
                return self._playing(parts, memory, options)
        else:
            options["updater"] = parts.updater()
        collector = parts.actor_pool.experiences() if config.actors else self._collector(parts)
        return collector, learner_of(config.kernel)(parts.policy, parts.clock, memory, **options)

    def _playing(self, parts, memory, options):
        """``(collector, learner)`` of a run whose card collects."""
        config, [envs], kernel = parts.config, parts.envs, memory.config.play
        envs.close()  # it was made for its Spec
        if config.env_count != kernel.environments:
            raise UsageError(
                f"env_count must be {kernel.environments} as in the kernel, not {config.env_count}"
            )
        check_range("n_step", config.agent.n_step, 1, kernel.longest, " (the kernel's)")
        memory.program(*task_of(config.env), parts.seeds.play)
        settings = PlaySettings(config, memory.learner.step_record)
        learner = PlayLearner(parts.policy, parts.clock, memory, settings, **options)
        return PlayCollector(learner), learner

    def _check_kernel(self, config, spec, learner):
        """UsageError if ``learner``, the LearnerConfig of a kernel, is of another algorithm or
        network than the run."""
        wanted = config.decided(spec)
        for name in ("replay.capacity", "learner.batch"):  # which may be larger in the kernel
            wanted.pop(name)
        wanted = {name: value for name, value in wanted.items() if not name.startswith("play.")}
        found = {name: value_of(learner, name.removeprefix("learner.")) for name in wanted}
        config.check_kernel(wanted, found)

    def _collector(self, parts):
        config, [envs] = parts.config, parts.envs
        windows = NStep.of(config.agent, parts.spec, config.env_count)
        options = dict(seed=parts.seeds.environments(0), phases=parts.phases)
        if config.actor_td_errors:
            options["td_errors"] = parts.policy.td_errors
        return NStepCollector(envs, config.steps_per_launch, windows=windows, **options)
