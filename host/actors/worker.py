"""An actor: environments, and a policy that acts in them. Nothing here knows Ray, which calls a
worker in a process of its own, or the caller, who may have it in the same process."""

import os
import platform
import time
import traceback
from contextlib import ExitStack, closing, suppress

from host.actors.messages import ActorLoss, Launch, Message
from host.advantages.rollout import RolloutCollector
from host.agents.registry import find_named
from host.algorithms.normalizer import Normalizer
from host.environments.environment import make_envs
from host.environments.environment_id import find_spec
from host.environments.spec import Spec
from host.replay.nstep import NStep, NStepCollector
from hw.errors import RlfabricError, UsageError

__all__ = ["CollectingWorker", "SteppingWorker", "worker_of"]


def worker_of(algorithm):
    """The class of an algorithm's workers: with rounds, the environments alone are elsewhere."""
    return SteppingWorker if algorithm.learns_from == "rounds" else CollectingWorker


class _Worker:
    """Has the environments of a WorkerPlan, ``self._envs``, one for each of its ``sizes``. Nothing
    but ``begin`` and ``open`` may be called before ``open``."""

    def __init__(self, plan, exploration, environments):
        self._plan, self._seeds = plan, (exploration, environments)
        self._made, self._envs = ExitStack(), []

    def begin(self):
        """Returns a text for the user, where the worker is."""
        return f"machine {platform.node()}, pid {os.getpid()}"

    def open(self):
        """Makes the environments, which may take long. Returns True; an ActorLoss if algorithm or
        environment cannot be made here."""
        plan = self._plan
        try:
            self._algorithm = find_named(plan.algo)
        except Exception as error:  # whatever a module of the user's raises
            return self._lost(error, "algo")
        try:
            find_spec(plan.env)
        except UsageError as error:  # the run has found it
            cure = f"give its module, which registers it: MODULE:{plan.env.rpartition(':')[2]}"
            return ActorLoss("env", f"{error}; it is registered in the run alone: {cure}")
        except Exception as error:
            return self._lost(error, "env")
        try:
            for size in plan.sizes:
                envs = make_envs(plan.env, size, self._algorithm)
                self._envs.append(self._made.enter_context(closing(envs)))
            self._begin(*self._seeds)
        except Exception as error:
            return self._lost(error, "env")
        return True

    def _begin(self, exploration, environments):
        """What a subclass makes of the environments."""

    def close(self):
        """Closes the environments."""
        self._made.close()

    def _lost(self, error, kind="raised"):
        """The ActorLoss by an exception of the environments, which are closed."""
        text = str(error)
        if not isinstance(error, RlfabricError):
            text = traceback.format_exception_only(error)[-1].strip()
        where = "".join(traceback.format_exception(error))
        with suppress(Exception):  # environments that have failed may fail once more
            self.close()
        return ActorLoss(kind, text, where)


class CollectingWorker(_Worker):
    """Collects the experience of whole launches.

    Parameters
    ----------
    plan : WorkerPlan
    exploration : numpy.random.SeedSequence
        Seed of the random numbers with which the policy acts.
    environments : int
        Seed of the first environment; environment i gets seed + i.
    """

    def _begin(self, exploration, environments):
        [envs], plan = self._envs, self._plan
        algorithm, spec = self._algorithm, Spec.of(envs)
        agent = algorithm.config.from_dict(plan.agent)
        self._actors, self._seen = plan.actors, None
        self._policy = algorithm.policy(agent, spec, exploration=exploration)
        if algorithm.learns_from == "replay":
            # All actors together take as many steps for a launch as one process would.
            windows, steps = NStep.of(agent, spec, envs.num_envs), plan.steps * plan.actors
            rated = dict(td_errors=self._policy.td_errors) if plan.td_errors else {}
            told = dict(windows=windows, seed=environments, **rated)
            self._collector = NStepCollector(envs, steps, **told)
        else:
            self._collector = RolloutCollector(envs, plan.steps, seed=environments)
            if getattr(self._policy, "normalizer", None) is not None:
                self._seen = _Seen(self._policy)
        self._ended = time.perf_counter()

    def collect(self, request, parameters):
        """The Message for an ActorRequest, with ``parameters`` of the policy
        (``Policy.snapshot``)."""
        began = time.perf_counter()
        idle, launches, loss = began - self._ended, [], None
        self._policy.load_snapshot(parameters)
        acts = self._policy if self._seen is None else self._seen.begin()
        clock = _SharedClock(request.steps, self._actors)
        try:
            for _ in range(request.launches):
                before = clock.taken
                experience, episodes = self._collector.collect(acts, clock)
                launches.append(Launch(experience, episodes, clock.taken - before))
        except Exception as error:  # whatever the user's environment raises
            loss = self._lost(error)
        self._ended = time.perf_counter()
        seen = None if self._seen is None else self._seen.normalizer.arrays
        return Message(request.version, launches, self._ended - began, idle, seen, loss)

    def state(self):
        """All on which the next message depends, except weights and environments."""
        policy = self._policy.state_dict()
        del policy["parameters"]  # they come with each request
        return {"policy": policy, "collector": self._collector.state_dict()}

    def load_state(self, state):
        """Continues a ``state`` in new episodes; returns True."""
        parameters = {"parameters": self._policy.snapshot}
        self._policy.load_state_dict(parameters | state["policy"])
        self._collector.load_state_dict(state["collector"])
        return True


class SteppingWorker(_Worker):
    """Steps environments, groups of them together; actions come from elsewhere."""

    def reset(self, seeds):
        """``{group: (observations, info)}`` of groups that begin new episodes with ``seeds``,
        ``{group: seed}``; or the ActorLoss."""
        try:
            return {group: self._envs[group].reset(seed=seed) for group, seed in seeds.items()}
        except Exception as error:
            return self._lost(error)

    def step(self, actions):
        """``{group: what step returns}`` for ``{group: actions}``; or the ActorLoss."""
        try:
            beside = [group for group in actions if hasattr(self._envs[group], "step_async")]
            for group in beside:
                self._envs[group].step_async(actions[group])
            return {
                group: self._envs[group].step_wait()
                if group in beside
                else self._envs[group].step(action)
                for group, action in actions.items()
            }
        except Exception as error:
            return self._lost(error)


class _SharedClock:
    """Counts environment steps of one actor as those of all: from ``steps`` on, ``actors`` for each
    of its own, which are ``taken``."""

    def __init__(self, steps, actors):
        self._begin, self._actors, self.taken = steps, actors, 0

    @property
    def steps(self):
        return self._begin + self._actors * self.taken

    @steps.setter
    def steps(self, value):
        self.taken += value - self.steps


class _Seen:
    """Acts as a policy whose observations are normalized; besides, ``normalizer`` counts those of
    the present message alone."""

    def __init__(self, policy):
        self._policy = policy
        self.applied, self.value, self.ended = policy.applied, policy.value, policy.ended

    def begin(self):
        self.normalizer = Normalizer(self._policy.spec.size)
        return self

    def sample(self, obs):
        self.normalizer.update(self._policy.flat(obs))
        return self._policy.sample(obs)
