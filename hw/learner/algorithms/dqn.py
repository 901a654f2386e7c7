"""DQN: one network of Q values, a target network, and double DQN's second online pass."""

from amaranth import *

from hw.learner.algorithms.algorithm import Algorithm, LossRule
from hw.learner.algorithms.plan import Feed, Network, Pass, Plan
from hw.summaries import SUMMARIES

__all__ = ["DQN"]


class DqnLoss(LossRule):
    """The loss of Q-learning for a sample with action a. q is the online Q value of a in s. The
    bootstrap value is the target's Q value of action k in s', where k has the largest Q value of
    the last pass in s'; ties prefer the smallest k. The error of output o is the gradient if o is
    a, else +0. If the action does not exist (``BatchMemory`` reports it), q = +0 and no output has
    an error.
    """

    numbers = {"q": ("q", "bootstrap")}

    def collect(self, m, network, kept, outputs, first, own, *, arithmetic):
        chosen = Signal(outputs[0][0].shape())
        for number, is_own in zip(outputs[0], own, strict=True):
            with m.If(is_own):
                m.d.comb += chosen.eq(number)
        with m.If(Cat(own).any()):
            m.d.sync += kept.q.eq(chosen)
        with m.Elif(first):
            m.d.sync += kept.q.eq(0)
        keys = [arithmetic.order_key(number) for number in outputs[-1]]
        key, value = self._largest(m, keys, outputs[1])
        largest = Signal(key.shape(), reset_less=True)
        with m.If(first | (key > largest)):
            m.d.sync += [largest.eq(key), kept.bootstrap.eq(value)]

    def _largest(self, m, keys, values):
        """The first of the largest ``keys``, and its value."""
        pairs = [*zip(keys, values, strict=True)]
        while len(pairs) > 1:
            alone = pairs[len(pairs) & ~1 :]
            pairs = [
                self._larger(m, *two) for two in zip(pairs[::2], pairs[1::2], strict=False)
            ] + alone
        return pairs[0]

    def _larger(self, m, one, other):
        wins = other[0] > one[0]
        best = tuple(Signal(part.shape()) for part in one)
        for part, a, b in zip(best, one, other, strict=True):
            m.d.comb += Value.cast(part).eq(Mux(wins, Value.cast(b), Value.cast(a)))
        return best

    def inputs(self, sample):
        return dict(q=sample.q, bootstrap=sample.bootstrap, value=sample.q)

    def errors(self, network, gradient, own, *, arithmetic):
        return [Mux(own, gradient, 0)]


class DqnAlgorithm(Algorithm):
    """DQN. The network's outputs are the Q values of all actions. For a sample with state s and
    next state s', the action that is best in s' is chosen by the online network if ``double``, else
    by the target.
    """

    name = "dqn"
    summary = SUMMARIES["dqn"]
    discrete = True
    sizes = dict(observation=4, action=2)
    options = ("double",)

    def plan(self, config):
        network = Network(inputs=config.observation, outputs=config.action, activation="linear")
        seen, following = (Feed("obs", 0),), (Feed("next_obs", 0),)
        passes = {
            "value": Pass("q", "online", seen, errors=True, trains=True),
            "bootstrap": Pass("q", "target", following),
        }
        if config.double:
            passes["choice"] = Pass("q", "online", following)
        return Plan({"q": network}, passes, (DqnLoss(),), acts="value")


DQN = DqnAlgorithm()
