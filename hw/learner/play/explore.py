"""Epsilon-greedy actions for environments on the card, a vector step at a time.

All random numbers of a vector step are drawn before its Q values are computed, so that a step in
which every environment explores needs no ACT. ::

    step -> a random number for each environment -> plan -> Q values (i) -> actions (o)
                                                      |                        |
                                                      +--- all explore --------+
"""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.enum import Enum
from amaranth.lib.wiring import In, Out

from hw.area import area
from hw.config import ConfigBase, check_range
from hw.estimate import together
from hw.stream.ram import shallow_memory

__all__ = ["SCHEDULE", "Explore", "ExploreConfig"]

#: first : epsilon of this step is ``start``.
#: start, decrement, end : UQ(0, 32); ``end`` is at most ``start``.
SCHEDULE = data.StructLayout({"first": 1, "start": 32, "decrement": 32, "end": 32})


@dataclass(frozen=True, kw_only=True)
class ExploreConfig(ConfigBase):
    """Sizes of ``Explore``.

    environments : 1..64.
    actions : choices of an environment, 2..256.
    """

    environments: int = 8
    actions: int = 2

    def __post_init__(self):
        check_range("environments", self.environments, 1, 64)
        check_range("actions", self.actions, 2, 256)

    def step_clocks(self, acts):
        """Clocks from a step to the next one, if nothing waits. ``acts`` is the plan's."""
        return 2 + self.environments * (2 + self.actions * acts)


class _Mode(Enum, shape=2):
    STEP = 0
    DRAW = 1
    PLAN = 2
    ACT = 3  # takes Q values, or sends an action


class Explore(wiring.Component):
    """Chooses an action for each environment, the greedy or a random one.

    Each environment takes one 64-bit number a step, whether it explores or not: it explores if the
    low 32 bits are below epsilon, and its random action is ``(high 32 bits * actions) >> 32``. The
    greedy action is the first with the largest Q value, as ``numpy.argmax`` has it. Epsilon of step
    k is ``max(start - k * decrement, end)``.

    Numbers, decisions and actions are in the order of the environments.

    Parameters
    ----------
    config : ExploreConfig

    Members
    -------
    step : In(stream of SCHEDULE)
        A vector step begins; taken after the last action of the one before.
    random : In(stream of 64 bits)
        Numbers of an ``Sfc64`` or another generator; one is taken for each environment.
    plan : Out(stream of {acts})
        Whether an environment takes its greedy action. If so, Q values follow on ``i``.
    i : In(stream of 32 bits)
        Q values in binary32: all actions of environment 0, then those for environment 1. Values for
        an environment that explores do not count. -0 equals +0; a NaN is beyond infinity, on the
        side of its sign.
    o : Out(stream of range(actions))
        The actions.
    epsilon : Out(32)
        Epsilon of the next step, unless that is a ``first`` one.
    """

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "step": In(stream.Signature(SCHEDULE)),
                "random": In(stream.Signature(unsigned(64))),
                "plan": Out(stream.Signature(data.StructLayout({"acts": 1}))),
                "i": In(stream.Signature(unsigned(32))),
                "o": Out(stream.Signature(range(config.actions))),
                "epsilon": Out(32),
            }
        )

    @staticmethod
    def estimate(config):
        """Resources with ``config``."""
        choice = (config.actions - 1).bit_length()
        ones = config.actions.bit_count()
        return together(
            [
                area("learner.play.explore", choice=choice, ones=ones),
                shallow_memory(1 + choice, config.environments),
            ]
        )

    def elaborate(self, platform):
        m = Module()
        count, actions = self.config.environments, self.config.actions
        mode, acts = Signal(_Mode), Signal()
        environment = Signal(range(count))
        decision = data.StructLayout({"explores": 1, "action": range(actions)})
        m.submodules.decisions = decisions = memory.Memory(shape=decision, depth=count, init=[])
        drawn, decided = decisions.write_port(), decisions.read_port(domain="comb")
        epsilon = self._epsilon(m)
        best, valued = self._greedy(m)
        last = Signal()

        def turn():
            """The next environment; the mode after the last one is the caller's."""
            m.d.sync += environment.eq(Mux(last, 0, environment + 1))

        # A product with a constant as a sum, which takes no multiplier.
        high = self.random.payload[32:]
        scaled = sum(high << k for k in range(9) if actions >> k & 1)
        m.d.comb += [
            last.eq(environment == count - 1),
            self.step.ready.eq(mode == _Mode.STEP),
            self.random.ready.eq(mode == _Mode.DRAW),
            drawn.en.eq(self.random.valid & self.random.ready),
            drawn.addr.eq(environment),
            drawn.data.explores.eq(self.random.payload[:32] < epsilon),
            drawn.data.action.eq(scaled[32:]),
            decided.addr.eq(environment),
            self.plan.valid.eq(mode == _Mode.PLAN),
            self.plan.p.acts.eq(acts),
            self.i.ready.eq((mode == _Mode.ACT) & acts & ~valued),
            self.o.valid.eq((mode == _Mode.ACT) & (valued | ~acts)),
            self.o.payload.eq(Mux(decided.data.explores, decided.data.action, best)),
        ]
        with m.Switch(mode):
            with m.Case(_Mode.STEP):
                with m.If(self.step.valid):
                    m.d.sync += [acts.eq(0), mode.eq(_Mode.DRAW)]
            with m.Case(_Mode.DRAW):
                with m.If(drawn.en):
                    turn()
                    m.d.sync += acts.eq(acts | ~drawn.data.explores)
                    with m.If(last):
                        m.d.sync += mode.eq(_Mode.PLAN)
            with m.Case(_Mode.PLAN):
                with m.If(self.plan.ready):
                    m.d.sync += mode.eq(_Mode.ACT)
            with m.Default():  # ACT
                with m.If(self.o.valid & self.o.ready):
                    turn()
                    with m.If(last):
                        m.d.sync += mode.eq(_Mode.STEP)
        return m

    def _epsilon(self, m):
        """Epsilon of the step that is taken or was taken last."""
        schedule, now, held = self.step.p, Signal(32), Signal(32, reset_less=True)
        left = Signal(signed(33))
        m.d.comb += [
            now.eq(Mux(schedule.first, schedule.start, self.epsilon)),
            left.eq(now - schedule.decrement),
        ]
        with m.If(self.step.valid & self.step.ready):
            above = (left >= 0) & (left[:32] > schedule.end)
            m.d.sync += [held.eq(now), self.epsilon.eq(Mux(above, left[:32], schedule.end))]
        return held

    def _greedy(self, m):
        """``(best, valued)``: the action with the largest of the values that came, and whether all
        came; from the first to the last value of an environment."""
        number, key = self.i.payload, Signal(signed(32))
        sign, magnitude = number[-1] & number[:-1].any(), number[:-1]
        action = Signal(range(self.config.actions))
        best, largest = Signal.like(action, reset_less=True), Signal(signed(32), reset_less=True)
        valued = Signal()
        m.d.comb += key.eq(Cat(magnitude ^ sign.replicate(31), sign).as_signed())
        with m.If(self.i.valid & self.i.ready):
            ends = action == self.config.actions - 1
            m.d.sync += [valued.eq(ends), action.eq(Mux(ends, 0, action + 1))]
            with m.If((action == 0) | (key > largest)):
                m.d.sync += [best.eq(action), largest.eq(key)]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += valued.eq(0)
        return best, valued
