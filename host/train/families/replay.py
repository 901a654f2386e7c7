"""Runs that learn from a replay memory, on the card or on the CPU."""

from dataclasses import fields
from functools import partial

from host.collect.collector import NStepCollector
from host.collect.nstep import NStep
from host.learners.card import kernel_settings
from host.learners.designs import learner_of
from host.memory import memory_on_cpu
from host.runtime.experience import record_dtype
from host.runtime.program import aligned
from host.train.families.family import Family, spec_of
from hw.designs import DESIGNS

__all__ = ["Replay"]


class Replay(Family):
    """The family of runs that learn from a replay memory. With learner cpu the card draws batches
    (kernel ``replay``); with learner card it trains, too (kernel ``config.kernel``). If the memory
    is not the card's, the card trains on the batches that it is sent, or there is none."""

    called = {
        "learner.batch": "batch_size",
        "learner.hidden": "hidden",
        "learner.hidden_activation": "activation",
        "learner.optimizer": "optimizer",
    }

    def design(self, config):
        return config.kernel

    def kernel_values(self, config, spec=None):
        values = {"capacity": self._capacity(config)}
        if config.learner == "card":
            spec = spec or spec_of(config)
            learner = kernel_settings(config.algorithm, config.agent, spec, config.env)
            learner["batch"] = config.agent.batch_size
            kind = DESIGNS[self.design(config)].config_type().learner
            own = {field.name for field in fields(kind)}  # the design fixes the other values
            values |= {f"learner.{name}": learner[name] for name in learner if name in own}
        return values

    def stored_bytes(self, config, spec, beat):
        return self._capacity(config) * aligned(record_dtype(spec.fields).itemsize, beat)

    def _capacity(self, config):
        """Experiences in the card's replay memory. If it is not used, the kernel has the least,
        which is a batch."""
        return config.capacity if config.memory == "card" else max(2, config.agent.batch_size)

    def factory(self, config, kernel):
        """Returns a callable: ``made(fields, *, capacity, alpha, epsilon, seed)`` makes the replay
        memory, on ``kernel`` or in front of it. ``fields`` are those of an experience, as
        ``Spec.fields``."""
        learner = learner_of(config.kernel)
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

    def join(self, parts, factory):
        config, phases = parts.config, parts.phases
        collector = parts.actor_pool.experiences() if config.actors else self._collector(parts)
        memory = factory(
            parts.spec.fields,
            capacity=config.capacity,
            alpha=config.alpha,
            epsilon=config.priority_epsilon,
            seed=parts.seeds.buffer,
        )
        updater = () if config.learner == "card" else (parts.updater(),)
        own = config, parts.policy, parts.clock, memory, *updater
        return collector, learner_of(config.kernel)(*own, phases=phases)

    def _collector(self, parts):
        config, [envs] = parts.config, parts.envs
        windows = NStep.of(config.agent, parts.spec, config.env_count)
        timed = dict(seed=parts.seeds.environments(0), phases=parts.phases)
        return NStepCollector(envs, config.steps_per_launch, windows=windows, **timed)
