"""Actors, n-step windows, replay buffer and agent as one state machine.

An iteration is one launch on the card, whichever the learner. No files, no clock: a session is a
function of its config and of its saved state.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields

import numpy as np

from host.agents.card import CardLearner
from host.agents.cpu import CPULearner
from host.agents.environment import Actor, Transitions, evaluate, make_envs, sizes
from host.agents.policy import AGENTS
from host.runtime.nstep import NStep

__all__ = ["Iteration", "Session", "experience_fields"]

#: spawn keys: every random stream of a run is its own branch of the run's seed
_AGENT, _BUFFER, _ENVS, _EVALUATION = range(4)


_LEARNERS = {"cpu": CPULearner, "card": CardLearner}


def experience_fields(observation_size, action_size=None):
    """``{name: (dtype, shape)}`` of one experience, in the order that the buffer stores it.

    The action is one integer, or ``action_size`` numbers in [-1, 1]; ``discount`` is gamma^k, 0
    where the episode terminated. A learner on the card reads the same words
    (``hw.learner.commands.record_words``).
    """
    number = np.dtype(np.float32)
    discrete = action_size is None
    return {
        "obs": (number, (observation_size,)),
        "next_obs": (number, (observation_size,)),
        "action": (np.dtype(np.uint32), ()) if discrete else (number, (action_size,)),
        "reward": (number, ()),
        "discount": (number, ()),
    }


@dataclass(frozen=True)
class Iteration:
    """What one launch gave; ``loss`` and ``td_errors`` are None before learning starts.

    ``td_errors`` are the batch's; of a learner on the card, their mean magnitude an update.
    ``episodes`` lists (return, length).
    """

    loss: float | None
    td_errors: np.ndarray | None
    episodes: list


class Session:
    """
    Parameters
    ----------
    config : TrainConfig
    buffer_factory : callable
        ``buffer_factory(fields, *, capacity, alpha, epsilon, seed)`` makes the replay buffer;
        ``fields`` as of ``experience_fields``.

    Attributes
    ----------
    agent : Agent
    buffer
    learner : CPULearner or CardLearner
    launches : int
    """

    def __init__(self, config, buffer_factory):
        self.config, self.launches = config, 0
        self._envs = make_envs(config.env, config.env_count, config.algo)
        self._evaluation_envs = make_envs(config.env, config.evaluation_episodes, config.algo)
        observation_size, action_count = sizes(self._envs)
        action_size = None if config.algo == "dqn" else action_count
        kind, _ = AGENTS[config.algo]
        self.agent = kind(
            config.agent,
            observation_size=observation_size,
            action_count=action_count,
            seed=np.random.SeedSequence(config.seed, spawn_key=(_AGENT,)),
        )
        self._actor = Actor(self._envs, seed=self._seed(_ENVS, 0))
        self._windows = NStep(
            config.env_count,
            config.agent.n_step,
            config.agent.gamma,
            observation_size=observation_size,
            action_size=action_size,
        )
        self.buffer = buffer_factory(
            experience_fields(observation_size, action_size),
            capacity=config.capacity,
            alpha=config.alpha,
            epsilon=config.priority_epsilon,
            seed=self._seed(_BUFFER),
        )
        self.learner = _LEARNERS[config.learner](config, self.agent, self.buffer)
        self._card = ThreadPoolExecutor(max_workers=1, thread_name_prefix="card")
        self._experiences = None
        self._broken_off = False

    def _seed(self, *key):
        sequence = np.random.SeedSequence(self.config.seed, spawn_key=key)
        return int(sequence.generate_state(1)[0]) >> 1

    def iterate(self):
        """Launch, act meanwhile, learn from the batch; ValueError as the buffer and agent do."""
        fill = len(self.buffer) + _count(self._experiences)
        plan = self.learner.plan(fill >= self.config.learning_starts)
        # The card works while the environments do: actions never depend on the batch in flight.
        launch = self._card.submit(self.learner.launch, self._experiences, plan)
        experiences, episodes = self._collect()
        loss, td_errors = self.learner.finish(launch.result())
        self._experiences = experiences
        self.launches += 1
        return Iteration(loss, td_errors, episodes)

    def _collect(self):
        parts, episodes = [self._windows.flush()] if self._broken_off else [], []
        self._broken_off = False
        for _ in range(self.config.steps_per_launch):
            taken, ended = self._actor.step(self.agent.act(self._actor.obs))
            parts.append(self._windows.push(**_shallow(taken)))
            episodes += ended
        return self._stored(parts), episodes

    def _stored(self, parts):
        """One dict of the windows' experiences, as the buffer holds them, or None."""
        parts = [part for part in parts if _count(part)]
        if not parts:
            return None
        whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        whole["reward"] *= np.float32(self.config.agent.reward_scale)
        whole["discount"][whole.pop("terminated")] = 0
        return whole

    def evaluate(self, attempt=0, agent=None):
        """Greedy returns [evaluation_episodes]; each attempt has its own episodes."""
        seed = self._seed(_EVALUATION, attempt)
        return evaluate(agent or self.agent, self._evaluation_envs, seed=seed)

    def state_dict(self):
        """Everything but the environments, which gymnasium cannot save."""
        return {
            "launches": self.launches,
            "agent": self.agent.state_dict(),
            "buffer": self.buffer.state_dict(),
            "windows": self._windows.state_dict(),
            "experiences": self._experiences,
            "learner": self.learner.state_dict(),
        }

    def load_state_dict(self, state):
        """Continue from ``state_dict``: the next launch, and so the next batch, is the same.

        Environments start new episodes, from seeds that follow from the run's seed and the launch;
        what their broken-off episodes had gathered enters the buffer as truncated.
        """
        self.launches = int(state["launches"])
        self.agent.load_state_dict(state["agent"])
        self.buffer.load_state_dict(state["buffer"])
        self.learner.load_state_dict(state["learner"])
        self._windows.load_state_dict(state["windows"])
        self._experiences, self._broken_off = state["experiences"], True
        self._actor = Actor(self._envs, seed=self._seed(_ENVS, self.launches))

    def close(self):
        self._card.shutdown()
        for part in (self.buffer, self._envs, self._evaluation_envs):
            part.close()


def _shallow(transitions):
    return {f.name: getattr(transitions, f.name) for f in fields(Transitions)}


def _count(experiences):
    return 0 if experiences is None else len(experiences["action"])
