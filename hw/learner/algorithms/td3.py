"""TD3: two critics with one target, smoothed target actions, and an actor that is updated later."""

from amaranth import *

from hw.config import check_range
from hw.learner.algorithms.algorithm import Algorithm, LossRule
from hw.learner.algorithms.plan import Feed, Network, Pass, Plan, Take
from hw.learner.block.layer_config import MAX_WIDTH
from hw.learner.records import STEP
from hw.nn.twin_td import ClimbLoss, TwinTd
from hw.summaries import SUMMARIES

__all__ = ["TD3"]


class _CriticLoss(LossRule):
    """Of each critic the outputs q and bootstrap. The error of its q is its own gradient."""

    pipeline = TwinTd
    numbers = {"critic": ("q", "bootstrap"), "critic_2": ("q_2", "bootstrap_2")}
    shifts = {"critic": 0, "critic_2": 1}

    def collect(self, m, network, kept, outputs, first, own, *, arithmetic):
        names = self.numbers[network]
        m.d.sync += [kept[name].eq(x) for name, (x,) in zip(names, outputs, strict=True)]

    def inputs(self, sample):
        return dict(
            q=sample.q,
            bootstrap=sample.bootstrap,
            q_2=sample.q_2,
            bootstrap_2=sample.bootstrap_2,
        )

    def errors(self, network, gradient, own, *, arithmetic):
        return [gradient[[*self.numbers].index(network)]]


class _ActorLoss(LossRule):
    """The actor ascends the first critic: the error of its output is -1."""

    pipeline = ClimbLoss
    numbers = {"critic": ("value",)}
    shifts = {"actor": 0}

    def collect(self, m, network, kept, outputs, first, own, *, arithmetic):
        ((number,),) = outputs
        m.d.sync += kept.value.eq(number)

    def inputs(self, sample):
        return dict(value=sample.value)

    def errors(self, network, gradient, own, *, arithmetic):
        return [gradient]


class Td3Algorithm(Algorithm):
    """TD3. For a sample with state s, action a and next state s': a' = target actor(s') with noise
    (``Smooth``); each critic learns q = critic(s, a) towards the smaller of both target critics'
    values of (s', a'). The second sweep comes after the critics' step: the actor ascends
    critic(s, actor(s)). A step whose record leaves it out trains the critics only; ``blend`` of
    that record is 0 where targets stand still.
    """

    name = "td3"
    summary = SUMMARIES["td3"]
    discrete = False
    sizes = dict(observation=3, action=1)
    record = STEP

    def check(self, config):
        check_range("observation + action", config.observation + config.action, 2, MAX_WIDTH)

    def plan(self, config):
        observation, action = config.observation, config.action
        critic = Network(observation + action, outputs=1, activation="linear")
        networks = {
            "critic": critic,
            "critic_2": critic,
            "actor": Network(observation, outputs=action, activation="tanh", rate=1),
        }
        seen, following = (Feed("obs", 0),), (Feed("next_obs", 0),)
        trained = dict(errors=True, trains=True)
        passes = {
            "next policy": Pass("actor", "target", following, smoothed=True),
            "policy": Pass("actor", "online", seen, **trained, sweep=1),
            "value": Pass(
                "critic", "online", seen, Take("policy", observation), errors=True, sweep=1
            ),
        }
        for name in ("critic", "critic_2"):
            taken = (*seen, Feed("action", observation))
            passes[f"q of {name}"] = Pass(name, "online", taken, **trained)
            passes[f"next q of {name}"] = Pass(
                name, "target", following, Take("next policy", observation)
            )
        return Plan(networks, passes, (_CriticLoss(), _ActorLoss()), acts="policy")


TD3 = Td3Algorithm()
