"""Errors times the slope of the actor's tanh: two samples a clock, free-running, latency 6."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.fixed_point import DualPrecision
from hw.stream.delay import delay

__all__ = ["TanhSlope"]


class TanhSlope(wiring.Component):
    """``dx * (1 - a**2)`` for two samples a clock, rounded as ``DualPrecision.derived_by_tanh``.

    Parameters
    ----------
    arithmetic : DualPrecision

    Members
    -------
    i : In({valid, dx: [2] of signed(27), a: [2] of signed(18)})
        Errors of both samples, and the tanh at which they were found, in ``tanh_format``.
    o : Out({valid, value: [2] of signed(27)})
        The products, in the format of errors.
    """

    LATENCY = DualPrecision.derived_by_tanh_latency

    def __init__(self, arithmetic):
        self.arithmetic = arithmetic
        errors = data.ArrayLayout(arithmetic.gradient.shape, 2)
        tanh = data.ArrayLayout(arithmetic.tanh_format.shape, 2)
        word = {"valid": 1, "dx": errors, "a": tanh}
        super().__init__(
            {
                "i": In(data.StructLayout(word)),
                "o": Out(data.StructLayout({"valid": 1, "value": errors})),
            }
        )

    def elaborate(self, platform):
        m = Module()
        arithmetic, i, o = self.arithmetic, self.i, self.o
        m.d.comb += o.valid.eq(delay(m, i.valid, self.LATENCY, name="valid", reset=True))
        for k in range(2):
            a = Signal(arithmetic.activation.shape, name=f"a_{k}")
            m.d.comb += a.eq(i.a[k] << arithmetic.tanh_cut)
            value = arithmetic.derived_by_tanh(m, i.dx[k], a, name=f"value_{k}")
            m.d.comb += o.value[k].eq(value)
        return m
