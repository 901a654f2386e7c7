"""Actor and critic of an on-policy agent, and the distributions from which actions are drawn.

A distribution is written twice: in NumPy, so that a host without torch can draw actions, and in
torch, for its gradients. torch.distributions is not used, since it takes no random generator.
"""

import math

import numpy as np

from host.algorithms.autodiff import torch
from host.algorithms.network import MLP

__all__ = ["ActorCritic", "draw_by_logits", "log_probability_and_entropy", "log_softmax"]

#: Gains of the output layers at first: actions are almost equally likely, or near the middle.
_ACTOR_GAIN, _CRITIC_GAIN = 0.01, 1.0

_HALF_LOG_2PI = math.log(2 * math.pi) / 2


class ActorCritic:
    """Actor and critic: two multi-layer perceptrons with orthogonal first weights, whose parameters
    are one vector.

    For discrete actions the actor gives logits [rows, action_count],
    ``pi(a) = exp(logits_a) / sum(exp(logits))``. For continuous actions it gives the means [rows,
    action_count] of independent normal components,
    ``log pi(a) = sum(-((a - mean) / deviation)**2 / 2 - log(deviation) - log(2 pi) / 2)``; the
    deviations are parameters, and do not depend on the observation. The critic gives values [rows,
    1].

    Parameters
    ----------
    config : AgentConfig
        With ``log_deviation``, the first value of each logarithm of a deviation.
    spec : Spec
        Sizes of observations and actions, and whether actions are discrete.
    rng : numpy.random.Generator
        Draws the first weights.
    """

    def __init__(self, config, spec, rng):
        options = dict(activation=config.activation, orthogonal=True, rng=rng)
        count, hidden = spec.action_count, config.hidden
        self.discrete = spec.discrete
        self.actor = MLP(spec.size, count, hidden, output_gain=_ACTOR_GAIN, **options)
        self.critic = MLP(spec.size, 1, hidden, output_gain=_CRITIC_GAIN, **options)
        deviations = np.full(0 if spec.discrete else count, config.log_deviation, np.float32)
        parts = self.actor.parameters, self.critic.parameters, deviations
        self.parameters = np.concatenate(parts)
        actor, critic, self.log_deviation = np.split(
            self.parameters, np.cumsum([len(part) for part in parts[:2]])
        )
        self.actor.move(actor)
        self.critic.move(critic)
        self.arrays = [*self.actor.arrays, *self.critic.arrays]
        if not self.discrete:
            self.arrays.append(self.log_deviation)

    def apply(self, x, arrays, functions):
        """``(output of the actor, values [rows], logarithms of the deviations or None)`` for tensor
        ``x`` [rows, inputs]; None for discrete actions. ``arrays`` stand for the network's own, and
        ``functions`` are as for ``MLP.apply``."""
        count = len(self.actor.arrays)
        output = self.actor.apply(x, arrays[:count], functions)
        value = self.critic.apply(x, arrays[count : 2 * count], functions)[:, 0]
        return output, value, None if self.discrete else arrays[-1]

    def draw(self, x, rng):
        """Draws an action for each row of x [rows, inputs], in NumPy, by the generator ``rng``.
        Returns ``(actions [rows, ...], their log probabilities [rows])``."""
        output = self.actor.forward(x)
        if not self.discrete:
            noise = rng.standard_normal(output.shape, np.float32)
            action = output + np.exp(self.log_deviation) * noise
            logarithm = -noise * noise / 2 - self.log_deviation - np.float32(_HALF_LOG_2PI)
            return action, logarithm.sum(axis=1)
        action = draw_by_logits(output, rng)
        return action, log_softmax(output)[np.arange(len(action)), action]


def draw_by_logits(logits, rng):
    """Draws an action for each row of ``logits`` [..., actions], with the softmax over the last
    axis as its probabilities: integers [...]."""
    # The index of the largest logit plus Gumbel noise has this distribution.
    return (logits + rng.gumbel(size=logits.shape)).argmax(axis=-1)


def log_softmax(logits):
    """Logarithms of the softmax over the last axis."""
    above = logits - logits.max(axis=-1, keepdims=True)
    return above - np.log(np.exp(above).sum(axis=-1, keepdims=True))


def log_probability_and_entropy(output, log_deviation, action):
    """``(log pi(action), entropy of pi)``, tensors [rows], for an actor's ``output`` [rows, ...]:
    logits if ``log_deviation`` is None, else means of normal components."""
    if log_deviation is None:
        logarithms = torch.log_softmax(output, 1)
        entropy = -(logarithms.exp() * logarithms).sum(1)
        return logarithms.gather(1, action[:, None])[:, 0], entropy
    z = (action - output) / log_deviation.exp()
    probability = (-z * z / 2 - log_deviation - _HALF_LOG_2PI).sum(1)
    entropy = (log_deviation + 0.5 + _HALF_LOG_2PI).sum().expand(len(output))
    return probability, entropy
