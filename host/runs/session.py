"""A run as a state machine: policy, collector and learner, launch by launch."""

from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np

from host.agents.evaluation import evaluate
from host.agents.policy_file import check_policy

__all__ = ["IterationResult", "Seeds", "Session"]


@dataclass(frozen=True)
class IterationResult:
    """The results of ``Session.iterate``.

    ``episodes`` is a list with the (return, length) of each episode that actors finished.
    ``measured`` maps columns of progress.csv to numbers or None; a row has the means of the numbers
    since the row before. ``measured`` is empty if no launch ended, or if it learned nothing.
    """

    episodes: list
    measured: dict


class Seeds:
    """The seeds of a run's random numbers. Weights, exploration, gradient steps, draws,
    environments, play on a card, and evaluations each have a seed of their own, which follows from
    the run's ``seed`` alone."""

    _AGENT, _BUFFER, _ENVS, _EVALUATION, _ACTORS, _PLAY = range(6)

    def __init__(self, seed: int) -> None:
        self._seed = seed

    @property
    def agent(self) -> list[np.random.SeedSequence]:
        """Seeds of first weights, of exploration, and of gradient steps."""
        return np.random.SeedSequence(self._seed, spawn_key=(self._AGENT,)).spawn(3)

    @property
    def buffer(self) -> int:
        return self._number(self._BUFFER)

    def environments(self, launches: int) -> int:
        """Seed of the episodes that begin when the run has made ``launches`` launches: 0 at the
        beginning, more when it is resumed."""
        return self._number(self._ENVS, launches)

    @property
    def play(self) -> np.random.SeedSequence:
        """Seed of all that is random in environments on the card."""
        return np.random.SeedSequence(self._seed, spawn_key=(self._PLAY,))

    def evaluation(self, attempt: int) -> int:
        return self._number(self._EVALUATION, attempt)

    def actor(self, index: int, generation: int) -> tuple[np.random.SeedSequence, int]:
        """Seeds of exploration, and of the first environment, of an actor (``host.actors``);
        ``generation`` is 0 at first, and one more for each actor that takes its place."""
        sequence = np.random.SeedSequence(self._seed, spawn_key=(self._ACTORS, index, generation))
        exploration, environments = sequence.spawn(2)
        return exploration, self._folded(environments)

    def _number(self, *key):
        return self._folded(np.random.SeedSequence(self._seed, spawn_key=key))

    @staticmethod
    def _folded(sequence):
        return int(sequence.generate_state(1)[0]) >> 1


class Session:
    """A training run without files, launch by launch: all that it does follows from its config and
    its saved state. ``host.runs.assembly`` makes it.

    Parameters
    ----------
    config : RunConfig
        Its agent's schedules have lengths (``RunConfig.in_run``).
    policy : Policy
        The policy that learns.
    collector : Collector
        Steps the environments.
    learner : Learner
        Does the launches.
    clock : Clock
        Counts steps and updates of the run.
    copies : Copies or None
        The environments of evaluations; None in a run without evaluations.
    phases : Phases
        Counts the time of the thread that iterates.

    Attributes
    ----------
    launches : int
        Launches since the run began, resumed runs added up.
    """

    def __init__(self, config, *, policy, collector, learner, clock, copies, phases):
        self.config, self.phases, self.clock = config, phases, clock
        self.policy, self.collector, self.learner = policy, collector, learner
        self._copies, self._seeds = copies, Seeds(config.seed)
        self._flying, self._pending, self.launches = deque(), None, 0
        self._played_on = False  # whether an evaluation has played on collector's environments

    @property
    def columns(self):
        """Columns of progress.csv besides those of all runs."""
        parts = (self.config.algorithm, self.learner, self.collector)
        return tuple(dict.fromkeys(name for part in parts for name in part.columns))

    def iterate(self):
        """Begins one launch, makes one collection, and returns the IterationResult.

        The launch has the experience of the collection before, and runs beside this collection.
        With ``Learner.at_once`` it has the experience of this collection, and begins after it. When
        ``Learner.in_flight`` launches are under way, the oldest one is ended, and its numbers are
        in the IterationResult. ValueError if the learner or the environments raise it.
        """
        learner = self.learner
        if self._played_on:
            self.collector.restart(self._seeds.environments(self.launches))
            self._played_on = False
        self.clock.launched = self.clock.steps
        if not learner.at_once:
            self._flying.append(learner.begin(self._pending))
        self._pending = None
        with learner.actor() as actor:
            self._pending, episodes = self.collector.collect(actor, self.clock)
        if learner.at_once:
            self._flying.append(learner.begin(self._pending))
        measured = {}
        while len(self._flying) >= learner.in_flight:
            measured = learner.end(self._flying.popleft())
        self.launches += 1
        if episodes and self._copies is not None:
            self._copies.ended = True
        return IterationResult(episodes, measured)

    def evaluate(self, attempt=0, policy=None, stop=(), progress=None):
        """Returns of greedy episodes, [evaluation_episodes], of ``policy``, or, if it is None, of
        the policy that learns. Equal numbers ``attempt`` have the same episodes, others have other
        ones. The result is None if the list ``stop`` gets an element before the episodes end.
        ``progress`` is as for ``host.agents.evaluation.evaluate``."""
        self._played_on = self.config.evaluation_on == "training"
        if policy is None:
            self.learner.fetch()  # the policy's file must have the weights that are evaluated
        with self.learner.actor(policy) as actor:
            return evaluate(
                actor,
                self._copies,
                seed=self._seeds.evaluation(attempt),
                limit=self.config.evaluation_steps,
                stop=stop,
                progress=progress,
            )

    def check_kept(self, file):
        """UsageError unless the policy in ``file`` acts as the one that learns, to the byte, where
        episodes of the last evaluation began; before the first nothing is compared. Without
        evaluations it is compared for random observations."""
        first = _some(self.policy.spec) if self._copies is None else self._copies.first
        if first is not None:
            check_policy(file, self.policy, first)

    def progress(self):
        """Column of progress.csv -> present number."""
        return self.learner.progress() | self.collector.progress()

    @property
    def device_cycles(self):
        """Clocks of all launches of this session; None on a card that does not count."""
        return self.learner.device_cycles

    def state_dict(self):
        """The state of all parts except the environments, which gymnasium cannot save. The call
        waits for launches under way; their results are in the state, and a resumed run learns from
        them. With ``Learner.at_once`` these results are left out, since they are of no use without
        the environments."""
        at_once = self.learner.at_once
        flying = [] if at_once else [launch.result() for launch in self._flying]
        self.learner.fetch()
        return {
            "launches": self.launches,
            "steps": self.clock.steps,
            "updates": self.clock.updates,
            "total": self.clock.total,
            "policy": self.policy.state_dict(),
            "collector": self.collector.state_dict(),
            "learner": self.learner.state_dict(),
            "flying": flying,
            "pending": None if at_once else self._pending,
        }

    def load_state_dict(self, state):
        """Continues from a ``state_dict``. The next launch, and so the next batch of a replay
        memory, is the same as without the break; with ``Learner.at_once`` it is not, since the
        launch has new experience. Environments begin new episodes, whose seeds follow from the
        run's seed and the number of launches so far."""
        self.launches = int(state["launches"])
        self.clock.steps, self.clock.updates = int(state["steps"]), int(state["updates"])
        self.clock.launched = self.clock.steps
        self.policy.load_state_dict(state["policy"])
        self.collector.restart(self._seeds.environments(self.launches))
        self.collector.load_state_dict(state["collector"])
        self.learner.load_state_dict(state["learner"])
        self._flying.clear()
        for result in state["flying"]:
            landed = Future()
            landed.set_result(result)
            self._flying.append(landed)
        self._pending = state["pending"]

    def stop(self):
        """Lets an ``iterate`` under way end as soon as it can; its results stand."""
        self.collector.stop()

    def close(self):
        self.learner.close()
        self.collector.close()
        if self._copies is not None:
            self._copies.close()


def _some(spec):
    """A few observations of a Spec, which no environment gave."""
    rng, shape = np.random.default_rng(0), (4, *spec.shape)
    bytes_ = spec.dtype == "uint8"
    return (
        rng.integers(256, size=shape, dtype=np.uint8)
        if bytes_
        else rng.normal(size=shape).astype(spec.dtype)
    )
