"""DDPG: a critic of state and action, an actor that climbs it, and the targets of both."""

from amaranth import *

from hw.config import check_range
from hw.learner.algorithms.algorithm import Algorithm, LossRule
from hw.learner.algorithms.plan import Feed, Network, Pass, Plan, Take
from hw.learner.block.layer_config import MAX_WIDTH
from hw.summaries import SUMMARIES

__all__ = ["DDPG"]


class DdpgLoss(LossRule):
    """The loss of DDPG. The critic has three outputs: q, value and bootstrap. The error of q is the
    gradient of the loss. The error of value is -1, so the actor ascends the critic. bootstrap has
    no error.
    """

    numbers = {"critic": ("q", "value", "bootstrap")}

    def collect(self, m, network, kept, outputs, first, own, *, arithmetic):
        names = self.numbers[network]
        m.d.sync += [kept[name].eq(x) for name, (x,) in zip(names, outputs, strict=True)]

    def inputs(self, sample):
        return dict(q=sample.q, bootstrap=sample.bootstrap, value=sample.value)

    def errors(self, network, gradient, own, *, arithmetic):
        minus_one, _ = arithmetic.number(-1, kind="gradient")
        return [gradient, Const(minus_one, arithmetic.shape("gradient"))]


class DdpgAlgorithm(Algorithm):
    """DDPG. For a sample with state s, action a and next state s': q = critic(s, a), value =
    critic(s, actor(s)), and bootstrap = target critic(s', target actor(s')).
    """

    name = "ddpg"
    summary = SUMMARIES["ddpg"]
    discrete = False
    sizes = dict(observation=3, action=1)

    def check(self, config):
        check_range("observation + action", config.observation + config.action, 2, MAX_WIDTH)

    def plan(self, config):
        observation, action = config.observation, config.action
        networks = {
            "critic": Network(observation + action, outputs=1, activation="linear"),
            "actor": Network(observation, outputs=action, activation="tanh", rate=1),
        }
        seen, following = (Feed("obs", 0),), (Feed("next_obs", 0),)
        passes = {
            "q": Pass(
                "critic", "online", (*seen, Feed("action", observation)), errors=True, trains=True
            ),
            "value": Pass("critic", "online", seen, Take("policy", observation), errors=True),
            "bootstrap": Pass("critic", "target", following, Take("next policy", observation)),
            "policy": Pass("actor", "online", seen, errors=True, trains=True),
            "next policy": Pass("actor", "target", following),
        }
        return Plan(networks, passes, (DdpgLoss(),), acts="policy")


DDPG = DdpgAlgorithm()
