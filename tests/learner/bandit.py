"""A third algorithm, as somebody would add one: hardware and twin, and a loss of its own.

A contextual bandit has one network and no target: ``td = q(s)[action] - reward``. Its loss is the
square, whatever ``clip`` is.
"""

import numpy as np
from amaranth import *
from amaranth.lib import wiring

from hw.designs import DESIGNS
from hw.learner.algorithms.algorithm import Algorithm, LossRule
from hw.learner.algorithms.plan import Feed, Network, Pass, Plan
from hw.learner.algorithms.registry import ALGORITHMS
from hw.learner.design import design_of
from hw.nn.td_loss import TdLoss
from sim.model.arith.arithmetic import twin_of
from sim.model.kernels import KERNELS
from sim.model.learner.algorithms.gradients import Gradients
from sim.model.learner.algorithms.registry import GRADIENTS
from sim.model.learner.kernel import LearnerKernel
from sim.model.learner.loss import loss_of, result_of
from sim.model.nn.losses import LOSSES, td_loss

__all__ = ["BANDIT", "ENTRIES", "bandit_loss"]

_INFINITY = 0x7F80_0000


class SquaredLoss(wiring.Component):
    """``TdLoss`` without a limit."""

    FOLD_LATENCY = TdLoss.FOLD_LATENCY
    latencies_of = staticmethod(TdLoss.latencies_of)
    estimate = staticmethod(TdLoss.estimate)

    def __init__(self, arithmetic):
        self._inner = TdLoss(arithmetic)
        self.td_latency, self.gradient_latency = self.latencies_of(arithmetic)
        super().__init__(self._inner.signature)

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = inner = self._inner
        for name, member in self.signature.members.items():
            if name == "clip":
                m.d.comb += inner.clip.eq(_INFINITY)
            elif member.flow == wiring.In:
                m.d.comb += getattr(inner, name).eq(getattr(self, name))
            else:
                m.d.comb += getattr(self, name).eq(getattr(inner, name))
        return m


class BanditLoss(LossRule):
    pipeline = SquaredLoss
    numbers = {"value": ("q",)}

    def collect(self, m, network, kept, outputs, first, own, *, arithmetic):
        with m.If(first):
            m.d.sync += kept.q.eq(0)
        for number, is_own in zip(outputs[0], own, strict=True):
            with m.If(is_own):
                m.d.sync += kept.q.eq(number)

    def inputs(self, sample):
        return dict(q=sample.q, value=sample.q)

    def errors(self, network, gradient, own, *, arithmetic):
        return [Mux(own, gradient, 0)]


class BanditAlgorithm(Algorithm):
    name = "bandit"
    summary = "contextual bandit on the card"
    discrete = True
    sizes = dict(observation=4, action=2)

    def plan(self, config):
        networks = {"value": Network(config.observation, config.action, "linear")}
        seen = Pass("value", "online", (Feed("obs", 0),), errors=True, trains=True)
        return Plan(networks, {"q": seen}, (BanditLoss(),), acts="q")


def bandit_loss(config, outputs, scalars, inverse, clip):
    """Of ``outputs[0]`` [batch, outputs]; errors have its shape."""
    arithmetic, (numbers,) = twin_of(config.arithmetic), outputs
    action, row = np.asarray(scalars["action"], np.int64), np.arange(len(numbers))
    q = arithmetic.to_float(numbers[row, action], "activation")
    nothing = np.zeros(len(row), np.float32)
    td, gradient, loss = loss_of(config)(q, nothing, scalars, inverse, clip)
    gradient, saturated = arithmetic.quantize(gradient, "gradient")
    delta = np.zeros(numbers.shape, gradient.dtype)
    delta[row, action] = gradient
    return result_of((delta,), td, loss, q, saturated)


def bandit_gradients(learner, records, scalars, inverse, clip, step):
    network, weights = learner.networks["value"], learner.weights_of("value", "online")
    obs, clipped = learner.inputs(records, "obs")
    numbers, activations = network.forward(weights, obs)
    result = bandit_loss(learner.config, [numbers[-1].T], scalars, inverse, clip)
    back = network.backward(weights, numbers, np.ascontiguousarray(result.delta[0].T))
    return Gradients(result, {"value": back.gradients}, clipped + activations, back.saturations)


def squared_loss(q, following, scalars, inverse, clip):
    return td_loss(q, following, scalars, inverse, np.float32(np.inf))


BANDIT = BanditAlgorithm()


#: ``(dictionary, key, value)`` of the lines that files of rlfabric would have. Twins of kernels
#: follow from ``ALGORITHMS`` if a process begins with the algorithm there.
ENTRIES = [
    (ALGORITHMS, "bandit", BANDIT),
    (GRADIENTS, "bandit", (bandit_gradients,)),
    (LOSSES, SquaredLoss, squared_loss),
    (DESIGNS, "bandit", design_of(BANDIT)),
    (KERNELS, "bandit", LearnerKernel),
]
