"""Environments of rounds that actors step. The kernel infers, and the run draws the actions, so
that the environments are all that can be elsewhere."""

import numpy as np
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space

from host.a3c.round_collector import RoundCollector

__all__ = ["ActorEnvs", "RoundActors", "RoundHosts"]


class RoundHosts:
    """The actors of a run in rounds. Each has whole groups, in their order, and is called once for
    all of them that were begun.

    If an actor is lost, all groups of the one in its place begin new episodes: for each of them the
    next step is one in which it only restarted (``Transitions.restarted``).

    Parameters
    ----------
    pool : Pool
    sizes : list of int
        Environments of each group; the number of groups is a multiple of the number of actors.
    seeds : callable
        ``seeds(index, generation)`` returns the seed of the first environment of an actor that
        replaces another.
    """

    def __init__(self, pool, sizes, seeds):
        self.pool, self._sizes, self._seeds = pool, sizes, seeds
        self._each = len(sizes) // len(pool)
        self._begun = [{} for _ in range(len(pool))]
        self._called = [None] * len(pool)  # the method that an actor is asked for
        self._results, self._fresh = {}, {}  # group -> its results; those of a restart

    def reset(self, group, seed):
        """``(observations, info)`` of a group that begins new episodes."""
        self.pool.start()
        index, own = divmod(group, self._each)
        self._fresh.pop(group, None)
        self._call(index, "reset", {own: seed})
        found = self._found(group)
        return found if group not in self._fresh else self._fresh.pop(group)

    def begin(self, group, actions):
        """Begins a step of a group. The actors are asked as soon as ``end`` is called for a group;
        they all step beside each other."""
        index, own = divmod(group, self._each)
        if group not in self._fresh:
            self._begun[index][own] = actions

    def end(self, group):
        """What ``step`` returns for a group that was begun."""
        for index, begun in enumerate(self._begun):
            if begun:
                self._call(index, "step", begun)
                self._begun[index] = {}
        found = self._found(group)
        if group not in self._fresh:
            return found
        obs, _ = self._fresh.pop(group)
        never = np.zeros(self._sizes[group], bool)
        return obs, np.zeros(len(never)), never, never, {"restarted": True}

    def _call(self, index, method, groups):
        self._called[index] = method
        self.pool.call(index, method, groups)

    def _found(self, group):
        """The results of a group, once they are there; None if it restarted."""
        while group not in self._results and group not in self._fresh:
            lost = []
            for index, answer in self.pool.receive():
                if answer is None:
                    lost.append(index)
                    continue
                fresh = self._called[index] == "restart"
                found = {index * self._each + own: each for own, each in answer.items()}
                (self._fresh if fresh else self._results).update(found)
                self._called[index] = None
            for index in lost:
                self._restart(index)
        return self._results.pop(group, None)

    def _restart(self, index):
        """Begins new episodes in all groups of an actor that has replaced another. ActorsFailed if
        none has."""
        if index not in self.pool.alive:
            raise self.pool.failed(index)
        seed, seeds = self._seeds(index, self.pool.generations[index]), {}
        for own in range(self._each):
            seeds[own] = seed
            seed += self._sizes[index * self._each + own]
        self._begun[index] = {}
        self._call(index, "reset", seeds)
        self._called[index] = "restart"


class ActorEnvs(VectorEnv):
    """The environments of a group, which an actor steps.

    hosts : RoundHosts
    group : number of the group
    like : a vector environment of one such environment, from which the spaces are
    """

    own_final_obs = True  # the actor's are (host.environments.border.enclose)

    def __init__(self, hosts, group, size, like):
        self._hosts, self._group, self.num_envs = hosts, group, size
        self.metadata, self.spec = like.metadata, like.spec
        self.single_observation_space = like.single_observation_space
        self.single_action_space = like.single_action_space
        self.observation_space = batch_space(like.single_observation_space, size)
        self.action_space = batch_space(like.single_action_space, size)

    def reset(self, *, seed=None, options=None):
        return self._hosts.reset(self._group, seed)

    def step_async(self, actions):
        self._hosts.begin(self._group, actions)

    def step_wait(self):
        return self._hosts.end(self._group)

    def step(self, actions):
        self.step_async(actions)
        return self.step_wait()


class RoundActors(RoundCollector):
    """A RoundCollector whose ``envs`` are ActorEnvs of the actors of ``pool``. Actors are made, and
    episodes begin, in the first ``collect``: a run that loses them meanwhile can be saved."""

    columns = ("wait_actors_s", "actors_alive", "actor_losses")

    def __init__(self, pool, envs, schedule, **options):
        self.pool, self._seed = pool, None  # the seed of episodes that have not begun
        super().__init__(envs, schedule, **options)

    def restart(self, seed):
        self._seed = seed

    def collect(self, policy, clock):
        if self._seed is not None:
            with self.phases("environments"):
                super().restart(self._seed)
            self._seed = None
        return super().collect(policy, clock)

    def progress(self):
        pool = self.pool
        values = (round(pool.waited_s, 3), len(pool.alive), pool.lost)
        return dict(zip(self.columns, values, strict=True))

    def state_dict(self):
        return {"generations": self.pool.generations, "lost": self.pool.lost}

    def load_state_dict(self, state):
        self.pool.go_on(state["generations"], int(state["lost"]))

    def close(self):
        self.pool.close()
