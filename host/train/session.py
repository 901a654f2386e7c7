"""Actors, n-step windows, replay buffer and agent as one state machine.

An iteration is one launch on the card, whichever the learner.
"""

from dataclasses import fields

import numpy as np

from host.collect.environment import Transitions
from host.collect.nstep import NStep
from host.learners.background import Background
from host.learners.card import CardLearner
from host.learners.cpu import CPULearner
from host.train.session_base import BUFFER, Iteration, SessionBase

__all__ = ["Session", "experience_fields"]

_LEARNERS = {"cpu": CPULearner, "card": CardLearner}

#: columns of progress.csv in the order of a learner's ``clipped``
_CLIPPED = ("clipped_weights", "clipped_activations", "clipped_gradients")


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


class Session(SessionBase):
    """
    Parameters
    ----------
    config : TrainConfig
    buffer_factory : callable
        ``buffer_factory(fields, *, capacity, alpha, epsilon, seed)`` makes the replay buffer;
        ``fields`` as of ``experience_fields``.

    Attributes
    ----------
    buffer
    learner : CPULearner or CardLearner
    """

    COLUMNS = ("loss", "td_error", "exploration", "beta", "learning_rate", "fill", *_CLIPPED)

    def __init__(self, config, buffer_factory):
        super().__init__(config)
        observation_size = self.observation_size
        action_size = None if config.algo == "dqn" else self.action_count
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
            seed=self._seed(BUFFER),
        )
        self.learner = _LEARNERS[config.learner](config, self.agent, self.buffer)
        self._card = Background("card")
        self._experiences = None
        self._broken_off = False

    def iterate(self):
        """Launch, act meanwhile, learn from the batch; ValueError as the buffer and agent do."""
        fill = len(self.buffer) + _count(self._experiences)
        with self.phases("card"):
            plan = self.learner.plan(fill >= self.config.learning_starts)
            # The card works while environments do: actions never depend on the batch in flight.
            launch = self._card.submit(self.learner.launch, self._experiences, plan)
        experiences, episodes = self._collect()
        with self.phases("card"):
            result = launch.result()
        with self.phases("learning"):
            loss, td_errors = self.learner.finish(result)
        self._experiences = experiences
        self.launches += 1
        measured = {}
        if loss is not None:
            measured = {"loss": loss, "td_error": float(np.abs(td_errors).mean())}
        return Iteration(episodes, measured)

    def _collect(self):
        parts, episodes = [self._windows.flush()] if self._broken_off else [], []
        self._broken_off = False
        for _ in range(self.config.steps_per_launch):
            with self.phases("policy"):
                action = self.agent.act(self._actor.obs)
            with self.phases("environments"):
                taken, ended = self._actor.step(action)
            with self.phases("packing"):
                parts.append(self._windows.push(**_shallow(taken)))
            episodes += ended
        with self.phases("packing"):
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

    @property
    def device_cycles(self):
        """Clocks of all launches of this session; None on a card that does not count."""
        return self.buffer.device_cycles

    def progress(self):
        agent = self.agent
        return {
            "exploration": agent.exploration,
            "beta": agent.beta,
            "learning_rate": agent.learning_rate,
            "fill": len(self.buffer),
            **dict(zip(_CLIPPED, self.learner.clipped, strict=True)),
        }

    def state_dict(self):
        return super().state_dict() | {
            "buffer": self.buffer.state_dict(),
            "windows": self._windows.state_dict(),
            "experiences": self._experiences,
            "learner": self.learner.state_dict(),
        }

    def load_state_dict(self, state):
        """Continue from ``state_dict``: the next launch, and so the next batch, is the same.

        What the environments' broken-off episodes had gathered enters the buffer as truncated.
        """
        super().load_state_dict(state)
        self.buffer.load_state_dict(state["buffer"])
        self.learner.load_state_dict(state["learner"])
        self._windows.load_state_dict(state["windows"])
        self._experiences, self._broken_off = state["experiences"], True

    def close(self):
        self._card.close(lambda: self.buffer.launcher.kernel.flight.abort())
        self.buffer.close()
        super().close()


def _shallow(transitions):
    return {f.name: getattr(transitions, f.name) for f in fields(Transitions)}


def _count(experiences):
    return 0 if experiences is None else len(experiences["action"])
