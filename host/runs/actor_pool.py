"""The actors of a run or of a program, from names and numbers, and what collects with them."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from gymnasium.vector import VectorEnv

from host.a3c.remote_environments import ActorEnvs, RoundActors, RoundHosts
from host.actors.actor_collectors import ExperienceActors, RolloutActors
from host.actors.messages import WorkerPlan, check_shared, message_launches
from host.actors.placement import Actors
from host.actors.pool import Pool
from host.actors.worker import worker_of
from host.agents.registry import find_named
from host.algorithms.config import LearningConfig
from host.environments.spec import Spec
from host.phases import ACTORS, Phases
from host.replay.experience import record_dtype
from host.runs.session import Seeds
from hw.fa3c.sharing import RoundSchedule

__all__ = ["ActorPool"]


class ActorPool:
    """The actors that act by an algorithm in an environment. One of the methods is called, once: it
    returns the collector of the algorithm's kind of experience.

    Parameters
    ----------
    actors : Actors
        Where they are.
    algo, env, agent : str, str, LearningConfig
        Names as of a run's config; the config of the agent, whose schedules have lengths
        (``in_run``).
    like : VectorEnv
        A single environment, from which the spaces are; it is not stepped.
    seeds : Seeds
        Those of the run.
    count : int
        Actors.
    env_count : int
        Environments of all actors together.
    steps : int
        Steps of each environment for a launch of the run.
    launches : int, optional
        Launches of a message, of an algorithm with a replay memory; None: those of 64 environment
        steps, at least one.
    td_errors : bool
        Whether TD errors go with experiences, for their first priorities.
    fixed : bool
        Whether messages are taken in turn, so that equal seeds give equal bytes. If not, they are
        taken as they come.
    phases : Phases, optional
        Counts the time of waiting.
    """

    def __init__(
        self,
        actors: Actors,
        algo: str,
        env: str,
        agent: LearningConfig,
        *,
        like: VectorEnv,
        seeds: Seeds,
        count: int,
        env_count: int,
        steps: int = 1,
        launches: int | None = None,
        td_errors: bool = False,
        fixed: bool = False,
        phases: Phases | None = None,
    ) -> None:
        self._actors, self._algo, self._env, self._agent = actors, algo, env, agent
        self._like, self._seeds, self._count, self._fixed = like, seeds, count, fixed
        self._env_count, self._steps, self._launches = env_count, steps, launches
        self._td_errors = td_errors
        self._phases, self._made = phases or Phases(more=ACTORS), ExitStack()

    @property
    def spec(self) -> Spec:
        """The Spec of the environment."""
        found: Spec = Spec.of(self._like)
        return found

    @property
    def launch_steps(self) -> int:
        """Environment steps of a launch."""
        return self._env_count * self._steps

    @property
    def message_launches(self) -> int:
        """Launches of a message of experiences."""
        size = record_dtype(self.spec.fields).itemsize
        return self._launches or int(message_launches(self.launch_steps, size))

    def experiences(self) -> ExperienceActors:
        """What collects n-step experiences for a replay memory, in place of NStepCollector.
        UsageError unless all actors have equally many environments."""
        told = dict(launches=self.message_launches, fixed=self._fixed)
        return ExperienceActors(self._alike(), self._phases, **told)

    def rollouts(self) -> RolloutActors:
        """What collects rollouts, in place of RolloutCollector: all actors act by the weights of
        now. UsageError unless all actors have equally many environments."""
        return RolloutActors(self._alike(), self._phases)

    def rounds(
        self, sizes: Sequence[int], schedule: RoundSchedule, *, populations: int
    ) -> RoundActors:
        """What collects for agents that act in rounds, in place of RoundCollector. ``sizes`` are
        the environments of each group, of all populations. An actor has whole groups: UsageError
        unless all actors have equally many."""
        told = dict(populations=populations, seed=self._seeds.environments(0), phases=self._phases)
        pool, envs = self.groups(sizes)
        return RoundActors(pool, envs, schedule, **told)

    def groups(self, sizes: Sequence[int]) -> tuple[Pool, list[ActorEnvs]]:
        """The Pool whose actors step groups of environments, and the groups. Arguments and errors
        are those of ``rounds``."""
        check_shared(self._count, len(sizes), "groups of all populations")
        each = len(sizes) // self._count
        pool = self._pool(lambda index: sizes[index * each : (index + 1) * each])
        hosts = RoundHosts(pool, sizes, lambda *actor: self._seeds.actor(*actor)[1])
        envs = [ActorEnvs(hosts, group, size, self._like) for group, size in enumerate(sizes)]
        return pool, envs

    def _alike(self) -> Pool:
        """The Pool whose actors have one vector environment each, all of one size."""
        check_shared(self._count, self._env_count, "env_count")
        each = [self._env_count // self._count]
        return self._pool(lambda _: each)

    def _pool(self, sizes: Callable[[int], Sequence[int]]) -> Pool:
        """The Pool in which actor ``index`` has vector environments of ``sizes(index)``
        environments."""
        kind, actors = worker_of(find_named(self._algo)), self._actors
        names = dict(algo=self._algo, agent=self._agent.to_dict(), env=self._env)

        def make(index: int, generation: int) -> tuple[object, ...]:
            own = tuple(sizes(index))
            told = dict(steps=self._steps, actors=self._count, td_errors=self._td_errors)
            plan = WorkerPlan(**names, sizes=own, **told)
            return kind, plan, *self._seeds.actor(index, generation)

        pool = Pool(
            actors.transport,
            make,
            self._count,
            fixed=self._fixed,
            limit=actors.limit,
            start=actors.start,
            losses=actors.losses,
            report=actors.report,
        )
        self._made.callback(pool.close)
        return pool

    def close(self) -> None:
        """Ends the actors, as ``close`` of the collector does, too."""
        self._made.close()
