"""One optimizer in binary32: a parameter a clock, free-running, latency by kind (``timing``).

    g       = scale * gradient
    first'  = first_decay * first + first_gain * g                 (not rmsprop: first' = g)
    second' = second_decay * second + second_gain * g**2           (not sgd)
    u       = first' * (1 / (second' * rsqrt(second') + floor))    (sgd: u = first')
    weight' = weight - rate * u
    target' = keep * target + blend * weight'

rounded at every step; ``second' * rsqrt(second')`` is +0 where ``second'`` is zero.
Source: CF'22 3.2 (WU); Kingma, Ba: Adam, algorithm 1.

A weight enters ``timing.weights`` clocks after its gradient, and moments leave before the weight
does: each memory is read in the clock in which its number is needed, so no long delay lines are
necessary.
"""

from amaranth import *
from amaranth.lib import wiring

from hw.arith.binary32 import Binary32
from hw.arith.float32.format import WIDTH, decode
from hw.arith.float32.reciprocal import Float32Reciprocal
from hw.arith.float32.rsqrt import Float32Rsqrt
from hw.nn.optimizer_config import COEFFICIENTS, Timing, optimizer_ports
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["Optimizer"]

_FLOAT = Binary32()
_MULTIPLY, _ADD = _FLOAT.multiply_latency, _FLOAT.add_latency


class Optimizer(wiring.Component):
    """New moments, weight and target by the formulas above, one parameter a clock, without
    back-pressure.

    Inputs and outputs of a parameter have different clocks, which ``timing`` counts from its
    gradient.

    Parameters
    ----------
    config : OptimizerConfig
    sum_shape : Shape
        Shape of a gradient: 32 bits.
    squares : bool
        Whether the optimizer has the port ``square``.

    Members
    -------
    coefficients : In(COEFFICIENTS)
        Steady while parameters pass.
    gradient : In(sum_shape)
        Sum over the batch.
    first, second : In(32)
        Old moments, in the clock of the gradient; ignored if the optimizer does not have the
        moment.
    new_first, new_second : Out(32)
        New moments, ``timing.moments`` clocks after the gradient; 0 if the optimizer does not have
        the moment.
    weight, target : In
        Old weight and old target weight, ``timing.weights`` clocks after the gradient.
    new_weight, new_target : Out
        New weight and new target weight, ``timing.latency`` clocks after the gradient.
    square : Out(32)
        ``g**2``, ``timing.moments`` clocks after the gradient; only with ``squares``.
    saturated : Out(1)
        Always 0: binary32 weights are not clipped.
    """

    INTERVAL = 1
    #: Name of the arithmetic in a saved state; its moments can only be continued in the same one.
    NAME = "binary32"
    COEFFICIENTS = COEFFICIENTS
    #: Allowed decays, {name: least}: 0, or from ``least`` to 1. Other decays have no limit.
    LEAST_DECAYS = {}
    #: Clocks of ``convert``.
    CONVERSION = 0

    def __init__(self, config, sum_shape, squares=False):
        self.config, self.sum_shape, self.squares = config, sum_shape, squares
        square = self.square_shape(config.arithmetic, sum_shape) if squares else None
        super().__init__(optimizer_ports(config, COEFFICIENTS, sum_shape, square))

    @staticmethod
    def square_shape(arithmetic, sum_shape):
        """Shape of the square of a gradient."""
        return unsigned(WIDTH)

    @staticmethod
    def convert(m, config, sum_shape, coefficients, *, name):
        """``coefficients``, unchanged: this class takes binary32 coefficients. Other classes of
        optimizers convert them here."""
        return coefficients

    @staticmethod
    def timing(config):
        """``Timing`` of an optimizer of ``config``."""
        if config.optimizer == "sgd":
            moments = u = 2 * _MULTIPLY + _ADD
        else:
            moments = 3 * _MULTIPLY + _ADD
            root = moments + Float32Rsqrt.LATENCY + _MULTIPLY
            u = root + _ADD + Float32Reciprocal.LATENCY + _MULTIPLY
        step = u + _MULTIPLY
        return Timing(moments, step, step + _ADD + _MULTIPLY + _ADD)

    def elaborate(self, platform):
        m = Module()
        coefficients = self.coefficients
        g = self._multiply(m, coefficients.scale, self.gradient, "scaled")
        u = self._moments(m, g)
        self._move(m, self._multiply(m, coefficients.rate, u, "move"))
        return m

    def _multiply(self, m, a, b, name):
        return _FLOAT.multiply(m, a, b, name=name)

    def _add(self, m, a, b, name):
        return _FLOAT.add(m, a, b, name=name)

    def _unit(self, m, cls, x, name):
        m.submodules[name] = unit = SharedModule(cls)
        result = Signal(unit.o.p.result.shape(), name=f"{name}_result")
        m.d.comb += [
            unit.i.p.x.eq(x),
            unit.i.valid.eq(1),
            unit.o.ready.eq(1),
            result.eq(unit.o.p.result),
        ]
        return result

    def _decayed(self, m, kind, old, addend, clocks):
        """``decay * old + gain * addend``; ``addend`` comes ``clocks`` clocks after ``old``."""
        coefficients = self.coefficients
        kept = self._multiply(m, coefficients[f"{kind}_decay"], old, f"{kind}_kept")
        kept = delay(m, kept, clocks, name=f"{kind}_kept")
        gained = self._multiply(m, coefficients[f"{kind}_gain"], addend, f"{kind}_gained")
        return self._add(m, kept, gained, f"{kind}_moment")

    def _moments(self, m, g):
        """``u`` for the scaled gradient ``g``."""
        config = self.config
        at = self.timing(config)
        u_clock = at.weights - _MULTIPLY
        g_clock = _MULTIPLY
        first, clock = g, g_clock
        if config.optimizer != "rmsprop":
            first = self._decayed(m, "first", self.first, g, g_clock)
            clock += _MULTIPLY + _ADD
            first = delay(m, first, at.moments - clock, name="first")
            clock = at.moments
            m.d.comb += self.new_first.eq(first)
        if config.optimizer != "sgd" or self.squares:
            square = self._multiply(m, g, g, "square")
        if self.squares:
            late = at.moments - g_clock - _MULTIPLY
            m.d.comb += self.square.eq(delay(m, square, late, name="late_square"))
        if config.optimizer == "sgd":
            return first

        second = self._decayed(m, "second", self.second, square, g_clock + _MULTIPLY)
        m.d.comb += self.new_second.eq(second)

        inverse = self._unit(m, Float32Rsqrt, second, "rsqrt")
        later = delay(m, second, Float32Rsqrt.LATENCY, name="second")
        product = self._multiply(m, later, inverse, "root")
        # Zero times infinity is not a number, but the root of zero is zero.
        zero = Signal()
        m.d.comb += zero.eq(decode(m, later, name="later").zero)
        zero = delay(m, zero, _MULTIPLY, name="zero")
        root = Mux(zero, 0, product)
        divisor = self._add(m, root, self.coefficients.floor, "divisor")
        quotient = self._unit(m, Float32Reciprocal, divisor, "reciprocal")
        first = delay(m, first, u_clock - _MULTIPLY - clock, name="moment")
        return self._multiply(m, first, quotient, "u")

    def _move(self, m, move):
        coefficients = self.coefficients
        negative = Signal(WIDTH)
        m.d.comb += negative.eq(Cat(move[:-1], ~move[-1]))
        weight = self._add(m, self.weight, negative, "moved")
        blended = self._multiply(m, coefficients.blend, weight, "blended")
        kept = self._multiply(m, coefficients.keep, self.target, "kept")
        target = self._add(m, delay(m, kept, _ADD, name="kept"), blended, "mixed")
        m.d.comb += [
            self.new_weight.eq(delay(m, weight, _MULTIPLY + _ADD, name="weight")),
            self.new_target.eq(target),
        ]
