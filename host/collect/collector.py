"""Collectors step environments by a policy, and make experience of the steps."""

import numpy as np

from host.collect.environment import Actor

__all__ = ["Collector", "NStepCollector"]


class Collector:
    """Steps environments by a policy, or by an object that acts as one (``Learner.actor``).

    A subclass has ``collect(policy, clock)``. It returns the experience of one launch, and a list
    with the ``(return, length)`` of every episode that ended. It adds the environment steps that it
    has taken to ``clock.steps``.

    Parameters
    ----------
    config : RunConfig
    spec : Spec
        Observations and actions of ``envs``.
    envs : gymnasium.vector.VectorEnv
        The environments to step.
    seed : int
        Seed of environment 0; environment i gets seed + i.
    phases : Phases
        Counts the collector's time.
    """

    def __init__(self, config, spec, envs, *, seed, phases):
        self.config, self.spec, self.envs, self.phases = config, spec, envs, phases
        self._actor = Actor(envs, seed=seed)

    def _step(self, policy, action, clock):
        """Applies ``action``; returns the Transitions, and the episodes that ended."""
        with self.phases("environments"):
            taken, episodes = self._actor.step(action)
            clock.steps += len(taken.reward)
            if episodes:
                policy.ended(taken.terminated | taken.truncated)
        return taken, episodes

    def restart(self, seed):
        """Resets all environments: environment i begins a new episode with seed ``seed + i``. A
        resumed run needs this, since gymnasium's environments cannot be saved."""
        self._actor = Actor(self.envs, seed=seed)

    def state_dict(self):
        """The collector's data of episodes under way."""
        return {}

    def load_state_dict(self, state):
        pass

    def close(self):
        self.envs.close()


class NStepCollector(Collector):
    """Collects records of n-step experiences for a replay memory.

    ``windows``, an NStep, makes experiences of the steps; other arguments are as for Collector.
    """

    def __init__(self, config, spec, envs, *, windows, **options):
        super().__init__(config, spec, envs, **options)
        self._windows, self._broken_off = windows, False

    def collect(self, policy, clock):
        """Takes ``steps_per_launch`` steps of every environment. Returns ``(records, episodes)``:
        the experiences that were completed, and ``(return, length)`` of each episode that ended."""
        parts, episodes = [self._windows.flush()] if self._broken_off else [], []
        self._broken_off = False
        for _ in range(self.config.steps_per_launch):
            with self.phases("policy"):
                action = policy.act(self._actor.obs, steps=clock.steps)
            taken, ended = self._step(policy, action, clock)
            episodes += ended
            with self.phases("packing"):
                parts.append(self._windows.push(taken))
        with self.phases("packing"):
            return _joined(parts), episodes

    def state_dict(self):
        return {"windows": self._windows.state_dict()}

    def load_state_dict(self, state):
        """Continues a saved state. The episodes that were under way count as truncated; the next
        ``collect`` returns their last experiences first."""
        self._windows.load_state_dict(state["windows"])
        self._broken_off = True


def _joined(parts):
    """The records of all parts in one array; padding bytes between fields are copied too."""
    if len(parts) == 1:
        return parts[0]
    dtype = parts[0].dtype
    return np.concatenate([part.view(f"V{dtype.itemsize}") for part in parts]).view(dtype)
