"""An algorithm of four networks and two sweeps, hardware and twin, for tests of the plan.

Sweep 0 trains two critics and a value network on TD errors; sweep 1 trains the actor through both
critics, after their step, and its errors are the sum of both. The value network stands still then.

    td = critic(s, a) - (r + d * target critic(s', a')),  a' = target actor(s')
    td2 = critic_2(s, a) - (r + d * value(s)[0])
    errors: critic td, critic_2 and all outputs of value td2; of the actor those of critic for -1
        and of critic_2 for td3 = critic(s, mu) - (r + d * critic_2(s, mu)),  mu = actor(s)
"""

import numpy as np
from amaranth import *
from amaranth.lib import data, wiring

from hw.designs import DESIGNS
from hw.estimate import times
from hw.learner.algorithms.algorithm import Algorithm, LossRule
from hw.learner.algorithms.plan import Feed, Network, Pass, Plan, Take
from hw.learner.algorithms.registry import ALGORITHMS
from hw.learner.design import design_of
from hw.nn.td_loss import TdLoss
from sim.model.arith.arithmetic import twin_of
from sim.model.kernels import KERNELS
from sim.model.learner.algorithms.gradients import Gradients
from sim.model.learner.algorithms.registry import GRADIENTS
from sim.model.learner.kernel import LearnerKernel
from sim.model.learner.loss import loss_of, result_of
from sim.model.learner.network.network import merge
from sim.model.nn.activation import derivative
from sim.model.nn.losses import LOSSES, td_loss

__all__ = ["ENTRIES", "QUARTET", "VALUES", "ClimbRule", "PairLoss", "TdRule"]

#: Outputs of the value network.
VALUES = 3


class PairLoss(wiring.Component):
    """Two ``TdLoss``. TD errors and sums are the first one's, gradients of both."""

    FOLD_LATENCY = TdLoss.FOLD_LATENCY
    latencies_of = staticmethod(TdLoss.latencies_of)

    def __init__(self, arithmetic):
        self._pair = [TdLoss(arithmetic) for _ in range(2)]
        self.td_latency, self.gradient_latency = self.latencies_of(arithmetic)
        members = dict(self._pair[0].signature.members)
        own, gradient = members["i"].shape.members, members["gradient"].shape.members["value"]
        members["i"] = wiring.In(data.StructLayout({**own, "q2": own["q"], "bootstrap2": own["q"]}))
        layout = {"valid": 1, "value": data.ArrayLayout(gradient, 2), "saturated": 2}
        members["gradient"] = wiring.Out(data.StructLayout(layout))
        super().__init__(members)

    @staticmethod
    def estimate(arithmetic):
        return times(2, TdLoss.estimate(arithmetic))

    def elaborate(self, platform):
        m = Module()
        one, two = m.submodules.one, m.submodules.two = self._pair
        for unit, names in ((one, ("q", "bootstrap")), (two, ("q2", "bootstrap2"))):
            for name in ("valid", "weight", "reward", "discount", "value"):
                m.d.comb += unit.i[name].eq(self.i[name])
            for name, source in zip(("q", "bootstrap"), names, strict=True):
                m.d.comb += unit.i[name].eq(self.i[source])
            for name in ("inverse", "clip", "clear", "fold"):
                m.d.comb += getattr(unit, name).eq(getattr(self, name))
        for name in ("td", "done", "folded", "loss_sum", "td_sum", "value_sum"):
            m.d.comb += getattr(self, name).eq(getattr(one, name))
        m.d.comb += [
            self.gradient.valid.eq(one.gradient.valid),
            self.gradient.saturated.eq(Cat(one.gradient.saturated, two.gradient.saturated)),
        ]
        for k, unit in enumerate(self._pair):
            m.d.comb += self.gradient.value[k].eq(unit.gradient.value)
        return m


class TdRule(LossRule):
    pipeline = PairLoss
    numbers = {"value": ("v",), "critic": ("q", "bootstrap"), "critic_2": ("q2", "unused")}

    def collect(self, m, network, kept, outputs, first, own, *, arithmetic):
        for name, numbers in zip(self.numbers[network], outputs, strict=True):
            with m.If(first):
                m.d.sync += kept[name].eq(numbers[0])

    def inputs(self, sample):
        return dict(
            q=sample.q, bootstrap=sample.bootstrap, value=sample.v, q2=sample.q2,
            bootstrap2=sample.v,
        )  # fmt: skip

    def errors(self, network, gradient, own, *, arithmetic):
        return [gradient[network != "critic"]]


class ClimbRule(LossRule):
    numbers = {"critic": ("q",), "critic_2": ("q2",)}

    def collect(self, m, network, kept, outputs, first, own, *, arithmetic):
        (name,), ((number,),) = self.numbers[network], outputs
        m.d.sync += kept[name].eq(number)

    def inputs(self, sample):
        return dict(q=sample.q, bootstrap=sample.q2, value=sample.q)

    def errors(self, network, gradient, own, *, arithmetic):
        number, _ = arithmetic.number(-1, kind="gradient")
        minus_one = Const(number, arithmetic.shape("gradient"))
        return [minus_one if network == "critic" else gradient]


class QuartetAlgorithm(Algorithm):
    name = "quartet"
    summary = "four networks and two sweeps"
    discrete = False
    sizes = dict(observation=3, action=2)

    def plan(self, config):
        observation, action = config.observation, config.action
        critic = Network(observation + action, 1, "linear")
        networks = {
            "critic": critic,
            "value": Network(observation, VALUES, "linear", rate=1),
            "critic_2": critic,
            "actor": Network(observation, action, "tanh", rate=1),
        }
        seen, following = (Feed("obs", 0),), (Feed("next_obs", 0),)
        taken = (*seen, Feed("action", observation))
        trained = dict(errors=True, trains=True)
        passes = {
            "next policy": Pass("actor", "target", following),
            "v": Pass("value", "online", seen, **trained),
            "policy": Pass("actor", "online", seen, **trained, sweep=1),
        }
        for name in ("critic", "critic_2"):
            passes |= {
                f"next {name}": Pass(name, "target", following, Take("next policy", observation)),
                name: Pass(name, "online", taken, **trained),
                f"climbed {name}": Pass(
                    name, "online", seen, Take("policy", observation), errors=True, sweep=1
                ),
            }
        return Plan(networks, passes, (TdRule(), ClimbRule()), acts="policy")


def td_sweep(learner, records, scalars, inverse, clip, step):
    config, arithmetic = learner.config, twin_of(learner.config.arithmetic)
    obs, next_obs, action, clipped = learner.inputs(records, "obs", "next_obs", "action")
    following, more = _forward(learner, "actor", "target", next_obs)
    activations, wasted = clipped + more, config.arithmetic.saturates
    seen = {}
    for name in ("critic", "critic_2"):
        seen[name], more = _forward(learner, name, "online", np.concatenate([obs, action]))
        after = np.concatenate([next_obs, following[-1]])
        bootstrap, late = _forward(learner, name, "target", after)
        if name == "critic":
            target = bootstrap
        activations += more + late
    seen["value"], more = _forward(learner, "value", "online", obs)
    q, v, q2 = (_real(arithmetic, seen[name][-1][0]) for name in ("critic", "value", "critic_2"))
    td, gradient, loss = td_loss(q, _real(arithmetic, target[-1][0]), scalars, inverse, clip)
    _, gradient2, _ = td_loss(q2, v, scalars, inverse, clip)
    errors, over = zip(
        *(arithmetic.quantize(each, "gradient") for each in (gradient, gradient2)), strict=True
    )
    back = {}
    for name, numbers in seen.items():
        delta = np.stack([errors[name != "critic"]] * len(numbers[-1]))
        back[name] = learner.networks[name].backward(
            learner.weights_of(name, "online"), numbers, delta,
            input_gradient=wasted and name != "value",
        )  # fmt: skip
    return Gradients(
        result_of((), td, loss, v, np.stack(over)),
        {name: each.gradients for name, each in back.items()},
        activations + more,
        sum(each.saturations for each in back.values()),
    )


def climb_sweep(learner, records, scalars, inverse, clip, step):
    config, arithmetic = learner.config, twin_of(learner.config.arithmetic)
    obs, activations = learner.inputs(records, "obs")
    policy, more = _forward(learner, "actor", "online", obs)
    activations += more
    seen = {}
    for name in ("critic", "critic_2"):
        seen[name], more = _forward(learner, name, "online", np.concatenate([obs, policy[-1]]))
        activations += more
    q, q2 = (_real(arithmetic, seen[name][-1][0]) for name in seen)
    td, gradient, loss = loss_of(config, 1)(q, q2, scalars, inverse, clip)
    gradient, over = arithmetic.quantize(gradient, "gradient")
    minus_one, _ = arithmetic.quantize(np.full(q.shape, -1, np.float32), "gradient")
    parts, saturations = [], 0
    for name, error in (("critic", minus_one), ("critic_2", gradient)):
        found = learner.networks[name].backward(
            learner.weights_of(name, "online"), seen[name], error[None],
            trained=False, input_gradient=True,
        )  # fmt: skip
        dx = found.dx[config.observation :]
        parts.append(derivative(config.arithmetic, "tanh", dx, policy[-1]))
        saturations += found.saturations
    delta, clipped = merge(config.arithmetic, parts)
    back = learner.networks["actor"].backward(learner.weights_of("actor", "online"), policy, delta)
    return Gradients(
        result_of((), td, loss, q, over),
        {"actor": back.gradients},
        activations,
        saturations + clipped + back.saturations,
    )


def _forward(learner, name, weights, x):
    return learner.networks[name].forward(learner.weights_of(name, weights), x)


def _real(arithmetic, numbers):
    return arithmetic.to_float(numbers, "activation")


QUARTET = QuartetAlgorithm()

#: As those of ``learner.bandit``.
ENTRIES = [
    (ALGORITHMS, "quartet", QUARTET),
    (GRADIENTS, "quartet", (td_sweep, climb_sweep)),
    (LOSSES, PairLoss, td_loss),
    (DESIGNS, "quartet", design_of(QUARTET)),
    (KERNELS, "quartet", LearnerKernel),
]
