"""DDPG: a critic of state and action, an actor that climbs it, and the targets of both."""

from amaranth import *

from hw.config import check_range
from hw.learner.algorithms.algorithm import Algorithm, Feed, Join, Network
from hw.learner.block.layer_config import MAX_WIDTH

__all__ = ["DDPG"]


class DdpgAlgorithm(Algorithm):
    """DDPG. For a sample with state s, action a and next state s', the last network, the critic,
    has three outputs: q = critic(s, a), value = critic(s, actor(s)), and bootstrap = target
    critic(s', target actor(s')). Errors go back from the first two: the gradient of the loss for q,
    and -1 for value, by which the actor climbs the critic.
    """

    name = "ddpg"
    summary = "DDPG on the card: replay, critic and actor, optimizer (CF'22, PEARL)"
    discrete = False
    acts = "actor"
    sizes = dict(observation=3, action=1)
    numbers = ("q", "value", "bootstrap")

    def check(self, config):
        check_range("observation + action", config.observation + config.action, 2, MAX_WIDTH)

    def networks(self, config):
        observation, action = config.observation, config.action
        return {
            "critic": Network(
                inputs=observation + action,
                outputs=1,
                activation="linear",
                weight_sources=("online", "online", "target"),
                backward_groups=2,
                feeds=(
                    Feed("obs", (0, 1), 0),
                    Feed("next_obs", (2,), 0),
                    Feed("action", (0,), observation),
                ),
                join=Join("actor", groups=(1, 2), first=observation, errors=(1,)),
            ),
            "actor": Network(
                inputs=observation,
                outputs=action,
                activation="tanh",
                weight_sources=("online", "target"),
                backward_groups=1,
                feeds=(Feed("obs", (0,), 0), Feed("next_obs", (1,), 0)),
            ),
        }

    def collect(self, m, kept, outputs, first, own, *, arithmetic):
        m.d.sync += [kept[name].eq(x) for name, (x,) in zip(self.numbers, outputs, strict=True)]

    def loss_numbers(self, sample):
        return sample.q, sample.bootstrap, sample.value

    def errors(self, gradient, own, *, arithmetic):
        return [gradient, Const(arithmetic.minus_one, arithmetic.shape("gradient"))]


DDPG = DdpgAlgorithm()
