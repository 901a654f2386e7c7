"""Actors, n-step windows, replay buffer and agent as one state machine.

An iteration is one launch on the card: the TD errors of the last batch, the experiences collected
since, and the next batch travel together. No files, no clock: a session is a function of its config
and of its saved state.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields

import numpy as np

from host.agents.dqn import DQN
from host.agents.environment import Actor, Transitions, evaluate, make_envs
from host.runtime.nstep import NStep

__all__ = ["Iteration", "Session", "experience_fields"]

#: spawn keys: every random stream of a run is its own branch of the run's seed
_AGENT, _BUFFER, _ENVS, _EVALUATION = range(4)


def experience_fields(observation_size):
    """``{name: (dtype, shape)}`` of one experience, in the order that the buffer stores it."""
    return {
        "obs": (np.dtype(np.float32), (observation_size,)),
        "action": (np.dtype(np.int32), ()),
        "reward": (np.dtype(np.float32), ()),
        "next_obs": (np.dtype(np.float32), (observation_size,)),
        "terminated": (np.dtype(np.bool_), ()),
        "discount": (np.dtype(np.float32), ()),
    }


@dataclass(frozen=True)
class Iteration:
    """What one launch gave; ``loss`` and ``td_errors`` are None before learning starts.
    ``episodes`` lists (return, length)."""

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
    agent : DQN
    buffer
    launches : int
    """

    def __init__(self, config, buffer_factory):
        self.config, self.launches = config, 0
        self._envs = make_envs(config.env, config.env_count)
        self._evaluation_envs = make_envs(config.env, config.evaluation_episodes)
        (self.observation_size,) = self._envs.single_observation_space.shape
        self.action_count = int(self._envs.single_action_space.n)
        self.agent = DQN(
            config.dqn,
            observation_size=self.observation_size,
            action_count=self.action_count,
            seed=np.random.SeedSequence(config.seed, spawn_key=(_AGENT,)),
        )
        self._actor = Actor(self._envs, seed=self._seed(_ENVS, 0))
        self._windows = NStep(
            config.env_count,
            config.dqn.n_step,
            config.dqn.gamma,
            observation_size=self.observation_size,
        )
        self.buffer = buffer_factory(
            experience_fields(self.observation_size),
            capacity=config.capacity,
            alpha=config.alpha,
            epsilon=config.priority_epsilon,
            seed=self._seed(_BUFFER),
        )
        self._card = ThreadPoolExecutor(max_workers=1, thread_name_prefix="card")
        self._experiences = self._update = None
        self._broken_off = False

    def _seed(self, *key):
        sequence = np.random.SeedSequence(self.config.seed, spawn_key=key)
        return int(sequence.generate_state(1)[0]) >> 1

    def iterate(self):
        """Launch, act meanwhile, learn from the batch; ValueError as the buffer and agent do."""
        fill = len(self.buffer) + _count(self._experiences)
        sample = None
        if fill >= self.config.learning_starts:
            sample = (self.config.dqn.batch_size, self.agent.beta)
        # The card works while the environments do: actions never depend on the batch in flight.
        launch = self._card.submit(self.buffer.step, self._experiences, self._update, sample)
        experiences, episodes = self._collect()
        batch = launch.result()
        loss = td_errors = update = None
        if batch is not None:
            td_errors, loss = self.agent.learn_batch(batch)
            update = (batch["indexes"], td_errors)
        self._experiences, self._update = experiences, update
        self.launches += 1
        return Iteration(loss, td_errors, episodes)

    def _collect(self):
        parts, episodes = [self._windows.flush()] if self._broken_off else [], []
        self._broken_off = False
        for _ in range(self.config.steps_per_launch):
            taken, ended = self._actor.step(self.agent.act(self._actor.obs))
            parts.append(self._windows.push(**_shallow(taken)))
            episodes += ended
        return _join(parts), episodes

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
            "update": None if self._update is None else list(self._update),
        }

    def load_state_dict(self, state):
        """Continue from ``state_dict``: the next launch, and so the next batch, is the same.

        Environments start new episodes, from seeds that follow from the run's seed and the launch;
        what their broken-off episodes had gathered enters the buffer as truncated.
        """
        self.launches = int(state["launches"])
        self.agent.load_state_dict(state["agent"])
        self.buffer.load_state_dict(state["buffer"])
        self._update = None if state["update"] is None else tuple(state["update"])
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


def _join(parts):
    """One dict of the parts' arrays, or None where there is no experience."""
    parts = [part for part in parts if _count(part)]
    if not parts:
        return None
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
