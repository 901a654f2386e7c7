"""PPO's networks in torch: separate actor and critic, and the distributions of actions."""

import math

from host.algorithms.torch_extra import torch

__all__ = ["ActorCritic", "Categorical", "Gaussian"]

_ACTIVATIONS = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}

#: Of the output layers at first: actions almost equally likely, or near the middle.
_ACTOR_GAIN, _CRITIC_GAIN = 0.01, 1.0


class Categorical:
    """``pi(a) = exp(logits_a) / sum(exp(logits))``; an action is an integer.

    logits : tensor [rows, actions]
    """

    def __init__(self, logits):
        self.logarithms = torch.log_softmax(logits, 1)

    def sample(self, generator):
        """Actions, int64 [rows]."""
        return torch.multinomial(self.logarithms.exp(), 1, generator=generator)[:, 0]

    def log_probability(self, action):
        return self.logarithms.gather(1, action[:, None])[:, 0]

    def entropy(self):
        return -(self.logarithms.exp() * self.logarithms).sum(1)


class Gaussian:
    """Independent components, ``log pi(a) = sum(-((a - mean) / deviation)**2 / 2 -
    log(deviation) - log(2 pi) / 2)``; an action is a vector, before it is clipped.

    mean : tensor [rows, components]
    log_deviation : tensor [components]
    """

    def __init__(self, mean, log_deviation):
        self.mean, self.log_deviation = mean, log_deviation

    def sample(self, generator):
        """Actions, float32 [rows, components]."""
        noise = torch.randn(self.mean.shape, generator=generator)
        return self.mean + self.log_deviation.exp() * noise

    def log_probability(self, action):
        z = (action - self.mean) / self.log_deviation.exp()
        constant = math.log(2 * math.pi) / 2
        return (-z * z / 2 - self.log_deviation - constant).sum(1)

    def entropy(self):
        each = self.log_deviation + (1 + math.log(2 * math.pi)) / 2
        return each.sum().expand(len(self.mean))


class ActorCritic(torch.nn.Module):
    """Two multi-layer perceptrons with orthogonal first weights; ``config`` is a PPOConfig.

    The actor gives logits [rows, action_count], or means of actions whose deviation does not depend
    on the observation; the critic gives values [rows].
    """

    def __init__(self, config, *, observation_size, action_count, discrete):
        super().__init__()
        self.discrete = discrete
        self.actor = _perceptron(config, observation_size, action_count, _ACTOR_GAIN)
        self.critic = _perceptron(config, observation_size, 1, _CRITIC_GAIN)
        if not discrete:
            deviation = torch.full((action_count,), float(config.log_deviation))
            self.log_deviation = torch.nn.Parameter(deviation)

    def distribution(self, obs):
        """Of actions at obs [rows, observation_size]."""
        output = self.actor(obs)
        return Categorical(output) if self.discrete else Gaussian(output, self.log_deviation)

    def value(self, obs):
        return self.critic(obs)[:, 0]


def _perceptron(config, inputs, outputs, output_gain):
    widths, layers = [inputs, *config.hidden], []
    for fan_in, fan_out in zip(widths, widths[1:], strict=False):
        layers += [_linear(fan_in, fan_out, 2**0.5), _ACTIVATIONS[config.activation]()]
    return torch.nn.Sequential(*layers, _linear(widths[-1], outputs, output_gain))


def _linear(fan_in, fan_out, gain):
    layer = torch.nn.Linear(fan_in, fan_out)
    torch.nn.init.orthogonal_(layer.weight, gain)
    torch.nn.init.zeros_(layer.bias)
    return layer
