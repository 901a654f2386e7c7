"""What actors take: one of them is measured here, and a launch with several follows from it.

An actor steps its environments and sends messages, while others do the same, and the process that
trains takes all messages. With N actors, and M messages of a launch ::

    acting = max(steps actor_us / N, M driver_us) + M message_us / N
"""

import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import numpy as np

from host.actors.messages import message_bytes
from host.actors.placement import ActorOptions, open_actors
from host.algorithms.config import Clock
from host.environments.environment import make_envs
from host.environments.spec import Spec
from host.rules import NOT_NEGATIVE, check_fields
from host.runs.actor_pool import ActorPool
from host.runs.blas_threads import single_threaded
from host.runs.run_kinds import family_of
from host.runs.session import Seeds

__all__ = ["ActorTimes", "measured"]

#: ``Algorithm.learns_from`` -> parts of an iteration (``host.compose.trial.PARTS``) that actors do.
_MOVED = {
    "replay": ("environments", "policy", "packing"),
    "rollouts": ("environments", "policy"),
    "rounds": ("environments",),
}


@dataclass(frozen=True, kw_only=True)
class ActorTimes:
    """Microseconds of actors.

    actors : actors of the run.
    beside : actors that act beside each other. It is ``actors``, but in rounds those of one
        population.
    steps : environment steps of a message.
    actor_us : of an actor, for an environment step.
    driver_us : of the processor, for a message, in the process that trains.
    message_us : from an actor's message to its next one, besides its steps and ``driver_us``.
    source : where the numbers come from.
    """

    actors: int
    beside: int
    steps: int
    actor_us: Annotated[float, NOT_NEGATIVE]
    driver_us: Annotated[float, NOT_NEGATIVE]
    message_us: Annotated[float, NOT_NEGATIVE]
    source: str

    def __post_init__(self):
        check_fields(self)

    def launch_us(self, steps):
        """Microseconds of acting for a launch with ``steps`` environment steps."""
        messages = steps / self.steps
        longest = max(steps * self.actor_us / self.beside, messages * self.driver_us)
        return longest + messages * self.message_us / self.beside

    def parts(self, parts, family, steps):
        """The parts of a Profile that was measured without actors, as they are with them.
        ``family`` is ``Algorithm.learns_from``."""
        moved = dict.fromkeys(_MOVED[family], 0.0)
        return parts | moved | {"environments": self.launch_us(steps)}

    def with_message_us(self, message_us):
        """The same with another ``message_us``."""
        source = f"{self.source}; message_us given"
        return replace(self, message_us=message_us, source=source)


def measured(config, messages, rounds):
    """The ActorTimes of the run with ``config``: about ``messages`` messages of one actor on Ray,
    on this machine, with as many environments as each has in the run, in ``rounds`` rounds. Actors
    that collect count their own time; that of stepping alone is taken in this process. MissingTool
    without Ray."""
    with ExitStack() as stack:
        stack.enter_context(single_threaded())
        like = stack.enter_context(closing(make_envs(config.env, 1, config.algorithm)))
        kind = _Stepping if config.LEARNS_FROM == "rounds" else _Collecting
        told = kind(config, lambda **options: _pool(config, ActorOptions(**options), like, stack))
        told.measure(1)  # the actor is made
        each = max(1, messages // rounds)
        found = [told.measure(each) for _ in range(rounds)]
    busy, whole, driver = np.median(found, axis=0) * 1e6
    count = config.actors
    return ActorTimes(
        actors=count,
        beside=max(1, count // getattr(config, "populations", 1)),
        steps=told.steps,
        actor_us=round(float(busy) / told.steps, 3),
        driver_us=round(float(driver), 3),
        message_us=round(max(0.0, float(whole - max(busy, driver))), 3),
        source=f"measured: {each * rounds} messages of one actor on Ray, on this machine",
    )


def _pool(config, options, like, stack):
    """The ActorPool of one actor, whose messages are those of an actor of the run."""
    size, steps = message_bytes(Spec.of(like), config.message_steps), 1
    if config.LEARNS_FROM != "rounds":
        steps = config.steps_per_launch
    if config.LEARNS_FROM == "replay":  # of a launch, one actor takes all steps
        steps *= config.actors
    pool = ActorPool(
        stack.enter_context(open_actors(1, options, size)),
        config.algo,
        config.env,
        config.in_run().agent,
        like=like,
        seeds=Seeds(config.seed),
        count=1,
        env_count=config.env_count // config.actors,
        steps=steps,
        launches=getattr(config, "launches_per_message", None),
        fixed=True,
    )
    return stack.enter_context(closing(pool))


class _Collecting:
    """An actor that acts by first weights, which it is sent anew with each request. ``steps`` are
    those of a message."""

    def __init__(self, config, pool):
        pool, replay = pool(), config.LEARNS_FROM == "replay"
        weights, exploration, _ = Seeds(config.seed).agent
        told = dict(weights=weights, exploration=exploration)
        self._policy = config.algorithm.policy(config.in_run().agent, pool.spec, **told)
        self._collector = pool.experiences() if replay else pool.rollouts()
        self._launches, self._clock = pool.message_launches if replay else 1, Clock()
        self.steps = self._launches * pool.launch_steps

    def measure(self, count):
        """Seconds of a message, of ``count``: of the actor's work, from one message to the next,
        and of this process's processor."""
        _, driver = _paced(self._message, count)
        seen = self._collector.progress()
        busy = self.steps / seen["steps_per_second_actor"]
        return busy, busy / (1 - seen["idle_actors"]), driver

    def _message(self):
        self._clock.updates += 1
        for _ in range(self._launches):
            self._collector.collect(self._policy, self._clock)


class _Stepping:
    """An actor that steps groups of environments of one population, and the same in this
    process."""

    def __init__(self, config, pool):
        each = config.groups * config.populations // config.actors
        sizes = family_of(config).environments(config)[: min(each, config.groups)]
        self.steps, self._made = sum(sizes), []
        for options in ({}, {"inline": True}):
            _, groups = pool(**options).groups(sizes)
            for number, envs in enumerate(groups):
                envs.reset(seed=number)
                envs.action_space.seed(number)
            self._made.append(partial(_step, groups))

    def measure(self, count):
        """As of ``_Collecting``."""
        (whole, driver), (busy, _) = (_paced(step, count) for step in self._made)
        return busy, whole, driver


def _step(groups):
    for envs in groups:
        envs.step_async(envs.action_space.sample())
    for envs in groups:
        envs.step_wait()


def _paced(call, count):
    """Seconds, and the processor's seconds in this process, of each of ``count`` calls."""
    begin, processor = time.perf_counter(), time.process_time()
    for _ in range(count):
        call()
    return (time.perf_counter() - begin) / count, (time.process_time() - processor) / count
