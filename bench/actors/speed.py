"""Environment steps a second of actors on Ray, through the collector of a run: two actors beside
one, and one beside the same actor in the run's own process.

Each speed is measured on quiet cores alone (``bench.actors.processes``).
"""

import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from statistics import median

from bench import row
from bench.actors.burning import BURNING
from bench.actors.processes import NOT_QUIET, quiet
from host.actors.actor_collectors import ExperienceActors
from host.actors.local_transport import InlineTransport
from host.actors.placement import Actors
from host.actors.pool import Pool
from host.algorithms.config import Clock
from host.algorithms.policy import Policy
from host.environments.environment import make_envs
from host.environments.spec import Spec
from host.phases import ACTORS, Phases
from host.runs.family import RunParts
from host.runs.preset import preset
from host.runs.session import Seeds

__all__ = ["CASES", "ActingSpeed", "acting", "config_of", "rows"]

_ROUNDS = 5
#: Least speed of two actors over that of one.
_TWICE = 1.6
_SOURCE = f"wall time on quiet cores, median of {_ROUNDS} rounds in turn"


@dataclass(frozen=True)
class ActorCase:
    """Environments and messages. ``steps`` is the number of environment steps of a message,
    ``messages`` how many are measured in a round, ``actors`` the numbers of actors that are
    compared, ``overhead`` the most per cent that Ray may add to the time of a step."""

    env: str
    steps: int
    messages: int
    actors: tuple
    overhead: float


CASES = {
    "1 ms a step, 64 steps a message": ActorCase(BURNING, 64, 16, (1, 2), 5),
    "CartPole-v1, 256 steps a message": ActorCase("CartPole-v1", 256, 80, (1,), 20),
}


def config_of(env, steps, actors):
    """The config of a run of dqn whose messages have so many ``steps``."""
    config = preset("dqn", "card", env=env)
    launches = steps // (config.env_count * config.steps_per_launch)
    return replace(config, actors=actors, launches_per_message=launches).in_run()


@dataclass
class ActingSpeed:
    """A run that acts, and does nothing else: each launch counts as a gradient step, so that each
    request has new weights."""

    pool: Pool
    collector: ExperienceActors
    policy: Policy
    clock: Clock
    launches: int

    def take(self, messages):
        """Takes the launches of so many messages."""
        for _ in range(messages * self.launches):
            self.collector.collect(self.policy, self.clock)
            self.clock.updates += 1


@contextmanager
def acting(config, actors):
    """A context manager whose value is the ActingSpeed of a config, with ``actors`` of
    ``host.actors.placement.open_actors``."""
    algorithm, seeds = config.algorithm, Seeds(config.seed)
    with closing(make_envs(config.env, 1, algorithm)) as envs:
        spec = Spec.of(envs)
    weights, exploration, _ = seeds.agent
    parts = RunParts(
        config=config,
        spec=spec,
        policy=algorithm.policy(config.agent, spec, weights=weights, exploration=exploration),
        clock=Clock(total=config.steps),
        phases=Phases(more=ACTORS),
        seeds=seeds,
        envs=[envs],
        updater=None,
        actors=actors,
    )
    made = parts.actor_pool
    with closing(made.experiences()) as collector:
        yield ActingSpeed(
            collector.pool, collector, parts.policy, parts.clock, made.message_launches
        )


def rows(actors):
    """The list of rows of all CASES.

    steps_per_second and idle_share, the per cent of their time that actors had no request, are
    those of one actor, of two, and of one in the run's own process; two_over_one is the ratio of
    the first two. message_overhead is what Ray adds to the time of a step.
    """
    inline, result = Actors(transport=InlineTransport()), []
    for name, case in CASES.items():
        runs = {
            f"{count} actor{'s' * (count > 1)}": (config_of(case.env, case.steps, count), actors)
            for count in case.actors
        }
        runs["1 actor, inline"] = config_of(case.env, case.steps, 1), inline
        result += _rows(name, case, _measured(runs, case.messages))
    return result


def _rows(name, case, found):
    """Rows of a case, of ``{run: [(steps a second, idle share) of each round]}``."""

    def value(number):
        return NOT_QUIET if None in found.values() else number()

    def over(one, other):
        return median(a / b for (a, _), (b, _) in zip(found[one], found[other], strict=True))

    for run, pairs in found.items():
        each = f"{name}, {run}"
        speed = value(lambda pairs=pairs: round(median(rate for rate, _ in pairs), 1))
        yield row("actors", each, "steps_per_second", speed, "1/s", source=_SOURCE)
        idle = value(lambda pairs=pairs: round(100 * median(idle for _, idle in pairs), 1))
        yield row("actors", each, "idle_share", idle, "%", source=_SOURCE)
    if "2 actors" in found:
        ratio = value(lambda: round(over("2 actors", "1 actor"), 2))
        yield row("actors", name, "two_over_one", ratio, "x", reference="at least",
                  reference_value=_TWICE, source=_SOURCE)  # fmt: skip
    added = value(lambda: round(100 * (over("1 actor, inline", "1 actor") - 1), 1))
    yield row("actors", name, "message_overhead", added, "%", reference="at most",
              reference_value=case.overhead, source=_SOURCE)  # fmt: skip


def _measured(runs, messages):
    """``{run: [(steps a second, idle share)]}``; each value None if the cores are not quiet."""
    found = {name: [] for name in runs}
    for _ in range(_ROUNDS):
        for name, (config, actors) in runs.items():
            with acting(config, actors) as run:
                run.pool.start()
                if not quiet():
                    return dict.fromkeys(runs)
                found[name].append(_speed(run, messages))
    return found


def _speed(run, messages):
    run.take(4 * len(run.pool))  # those that were asked for at once, and as many again
    run.collector.progress()  # from here on it means over what follows
    began, steps = time.perf_counter(), run.clock.steps
    run.take(messages)
    rate = (run.clock.steps - steps) / (time.perf_counter() - began)
    return rate, run.collector.progress()["idle_actors"]
