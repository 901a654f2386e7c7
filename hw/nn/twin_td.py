"""TD3's losses: clipped double Q-learning of two critics, and the actor's ascent of the first.

Free-running pipelines of binary32 for all lanes, as ``hw.nn.td_loss``, with its ports: a sample may
come in every clock.
"""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hw.area import area
from hw.arith import estimate as arith
from hw.arith.binary32 import Binary32
from hw.arith.float32.format import WIDTH, times_power_of_two
from hw.estimate import times, together
from hw.nn.batch_sum import BatchSum
from hw.nn.layouts import MAX_SHIFT, SHIFT
from hw.nn.td_loss import HUBER_LATENCIES, LossPipeline, TdLoss, huber, td_ports
from hw.stream.delay import delay

__all__ = ["ClimbLoss", "TwinTd"]

_FLOAT = Binary32()
_MULTIPLY, _ADD = _FLOAT.multiply_latency, _FLOAT.add_latency
_SIGN = 1 << (WIDTH - 1)


class TwinTd(LossPipeline):
    """TD errors, gradients and Huber losses of two critics with one target, the smaller of both
    bootstrap values (Fujimoto et al., 2018, equation 10)::

        y = r + d * min(q1', q2');  td1 = q1 - y;  td2 = q2 - y;  w = p * inverse
        gradient and loss of each as of TdLoss, the gradient with w * 2**-shift for w
        loss = loss1 + loss2
        td = the one with the larger magnitude, td1 if they are equal

    Every operation is rounded, in the written order. In binary32 the smaller value is the one with
    the smaller ``order_key``.

    Parameters
    ----------
    arithmetic : Arithmetic
        As of TdLoss.

    Members
    -------
    i : In({valid, q, bootstrap, q_2, bootstrap_2, weight, reward, discount})
        As of TdLoss, with the numbers of the second critic.
    shift : In([2] of signed(8))
        Of each critic; steady while samples are inside and the clock before.
    gradient : Out({valid, value [2], saturated [2]})
        The gradients of both critics.
    td, loss_sum, td_sum, value_sum : Out
        As of TdLoss, of ``td`` and ``loss``. ``value_sum`` is 0.
    All other members are as in TdLoss.
    """

    def __init__(self, arithmetic):
        ports = td_ports(arithmetic)
        number = arithmetic.shape("activation")
        numbers = dict.fromkeys(("q", "bootstrap", "q_2", "bootstrap_2"), number)
        scalars = dict.fromkeys(("weight", "reward", "discount"), WIDTH)
        ports["i"] = In(data.StructLayout({"valid": 1, **numbers, **scalars}))
        values = data.ArrayLayout(arithmetic.shape("gradient"), 2)
        ports["gradient"] = Out(data.StructLayout({"valid": 1, "value": values, "saturated": 2}))
        ports["shift"] = In(data.ArrayLayout(SHIFT, 2))
        super().__init__(arithmetic, ports)

    @classmethod
    def latency_of(cls, arithmetic):
        """Clocks from a sample to ``done``."""
        return cls._td_at(arithmetic) + HUBER_LATENCIES[1] + _ADD + BatchSum.LATENCY

    @classmethod
    def latencies_of(cls, arithmetic):
        """``(td_latency, gradient_latency)``: clocks from a sample in ``i`` to its TD error and to
        its gradients."""
        td = cls._td_at(arithmetic)
        return td + 1, td + HUBER_LATENCIES[0] + arithmetic.quantize_latency

    @staticmethod
    def _td_at(arithmetic):
        """Clocks from a sample to both TD errors; the smaller bootstrap value takes one."""
        td, _ = TdLoss.latencies_of(arithmetic)
        return 1 + td

    @staticmethod
    def estimate(arithmetic):
        """Resources."""
        number = arith.to_float(arithmetic, "activation")
        return together(
            [
                times(2, area("nn.batch_sum")),
                times(3, number),
                # y, two TD errors, two excesses, a sum of losses; future, weight, three a critic.
                times(6, area("arith.float32.add")),
                times(8, area("arith.float32.multiply")),
                times(2, area("arith.float32.power_of_two")),
                times(2, arith.quantize(arithmetic, "gradient")),
                area("nn.twin_td", late=bool(arithmetic.to_float_latency)),
            ]
        )

    def elaborate(self, platform):
        m = Module()
        arithmetic, i, td_at = self.arithmetic, self.i, self._td_at(self.arithmetic)
        valid_at = self.valids(m)

        smaller = Signal(i.bootstrap.shape(), reset_less=True)
        keys = [arithmetic.order_key(number) for number in (i.bootstrap, i.bootstrap_2)]
        m.d.sync += smaller.eq(Mux(keys[1] < keys[0], i.bootstrap_2, i.bootstrap))
        start = 1 + arithmetic.to_float_latency
        bootstrap = arithmetic.to_float(m, smaller, kind="activation", name="bootstrap_float")
        discount = delay(m, i.discount, start, name="discount")
        future = _FLOAT.multiply(m, discount, bootstrap, name="future")
        reward = delay(m, i.reward, start + _MULTIPLY, name="reward")
        y = _FLOAT.add(m, reward, future, name="y")
        weight = _FLOAT.multiply(m, i.weight, self.inverse, name="weight")
        before = delay(m, weight, td_at - _MULTIPLY, name="late_weight")
        weight = delay(m, before, 1, name="last_weight")

        errors, losses = [], []
        for k, q in enumerate((i.q, i.q_2)):
            late = delay(m, q, 1, name=f"q_{k}")
            number = arithmetic.to_float(m, late, kind="activation", name=f"q_{k}_float")
            number = delay(m, number, _MULTIPLY + _ADD, name=f"late_q_{k}")
            td = _FLOAT.add(m, number, y ^ _SIGN, name=f"td_error_{k}")
            places = Signal(signed(9), name=f"places_{k}", reset_less=True)
            shifted = Signal(WIDTH, name=f"shifted_{k}", reset_less=True)
            m.d.sync += [
                places.eq(-self.shift[k]),
                shifted.eq(times_power_of_two(before, places)),
            ]
            weights = shifted, weight
            gradient, loss = huber(m, td, self.clip, weights, prefix=f"critic_{k}_")
            value, saturated = arithmetic.quantize(
                m, gradient, kind="gradient", name=f"gradient_raw_{k}"
            )
            m.d.comb += [
                self.gradient.value[k].eq(value),
                self.gradient.saturated[k].eq(saturated),
            ]
            errors.append(td)
            losses.append(loss)
        larger = Signal(WIDTH, reset_less=True)
        m.d.sync += larger.eq(Mux(errors[1][:-1] > errors[0][:-1], errors[1], errors[0]))
        loss = _FLOAT.add(m, *losses, name="both_losses")
        m.d.comb += [
            self.td.valid.eq(valid_at[self.td_latency]),
            self.td.value.eq(larger),
            self.gradient.valid.eq(valid_at[self.gradient_latency]),
            self.done.eq(valid_at[self.latency]),
        ]
        self.add_up(
            m,
            (self.loss_sum, valid_at[self.latency - BatchSum.LATENCY], loss),
            (self.td_sum, valid_at[self.td_latency], Cat(larger[:-1], Const(0, 1))),
        )
        return m


class ClimbLoss(LossPipeline):
    """The actor's loss ``-q``: the gradient of every sample is ``-2**-shift``, and ``value_sum``
    adds up q.

    Parameters
    ----------
    arithmetic : Arithmetic
        As of TdLoss.

    Members
    -------
    shift : In([1] of signed(8))
        In -8..8; steady while samples are inside.
    All others are as in TdLoss; of ``i``, only ``valid`` and ``value`` count. No TD error comes,
    and the other sums are 0.
    """

    def __init__(self, arithmetic):
        super().__init__(
            arithmetic, td_ports(arithmetic) | {"shift": In(data.ArrayLayout(SHIFT, 1))}
        )

    @classmethod
    def latency_of(cls, arithmetic):
        """Clocks from a sample to ``done``."""
        return arithmetic.to_float_latency + BatchSum.LATENCY

    @staticmethod
    def latencies_of(arithmetic):
        """``(td_latency, gradient_latency)``: no TD error comes; the gradient comes at once."""
        return 0, 0

    @staticmethod
    def estimate(arithmetic):
        """Resources."""
        number = arith.to_float(arithmetic, "activation")
        late = bool(arithmetic.to_float_latency)
        return together([area("nn.batch_sum"), number, area("nn.climb_loss", late=late)])

    def elaborate(self, platform):
        m = Module()
        arithmetic, i = self.arithmetic, self.i
        valid_at = self.valids(m)
        m.d.comb += [
            self.gradient.valid.eq(i.valid),
            self.done.eq(valid_at[self.latency]),
        ]
        with m.Switch(self.shift[0]):
            for shift in range(-MAX_SHIFT, MAX_SHIFT + 1):
                value, saturated = arithmetic.number(-(2.0**-shift), kind="gradient")
                with m.Case(shift):
                    m.d.comb += [
                        self.gradient.value.eq(value),
                        self.gradient.saturated.eq(saturated),
                    ]
        value = arithmetic.to_float(m, i.value, kind="activation", name="value")
        self.add_up(m, (self.value_sum, valid_at[arithmetic.to_float_latency], value))
        return m
