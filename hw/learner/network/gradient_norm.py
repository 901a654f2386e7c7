"""Limits the norm of a network's gradient, as torch.nn.utils.clip_grad_norm_ does.

    norm = scale * sqrt(sum of the squares of all gradients)
    limited = scale * min(1, max_norm / (norm + 1e-6))

in binary32, rounded at every step. In binary32 arithmetic the squares contain the scale already.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.area import area
from hw.arith import estimate as arith
from hw.arith.adder_tree import adder_tree
from hw.arith.binary32 import Binary32
from hw.arith.float32.format import PRECISION, WIDTH, decode
from hw.arith.float32.reciprocal import Float32Reciprocal
from hw.arith.float32.rsqrt import Float32Rsqrt
from hw.arith.to_float import ToFloat, to_float
from hw.estimate import times, together
from hw.learner.records import ONE
from hw.nn.fixed_optimizer import SQUARE_FRACTION
from hw.nn.optimizers import optimizer_of
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["GradientNorm"]

#: Bits of 1e-6, which is added to the norm.
_FLOOR = 0x358637BD
#: Bits of a fixed-point sum that become a binary32 number, and bits that are dropped together.
_WINDOW, _DROPPED = 62, 31

_FLOAT = Binary32()
_MULTIPLY, _ADD = _FLOAT.multiply_latency, _FLOAT.add_latency


class GradientNorm(wiring.Component):
    """Computes the scale of a network's gradients from their squares, once they are complete.

    The sums of the layers are added in a tree of neighbours, in the order of the layers. A sum or a
    norm that is infinite gives a scale of 0, one that is not a number leaves the scale as it is.

    Parameters
    ----------
    config : LayerConfig
    shape : Shape
        The widest sum of a layer.
    layers : int

    Members
    -------
    clear : In(1)
        A pulse: ``limited`` is ``scale`` again.
    totals : In(shape).array(layers)
        The sum of the squares of each layer.
    complete : In(1)
        High while all ``totals`` are complete and steady.
    scale, max_norm : In(32)
        Binary32, steady from ``clear`` on.
    limited : Out(32)
        ``scale``, and from ``latency_of`` clocks after ``complete`` rises the limited one.
    ready : Out(1)
        While ``complete``: ``limited`` has been steady as long as the conversion of coefficients
        takes (``CONVERSION`` of the optimizers' class).
    """

    def __init__(self, config, shape, layers):
        self.config, self.layers = config, layers
        super().__init__(
            {
                "clear": In(1),
                "totals": In(shape).array(layers),
                "complete": In(1),
                "scale": In(WIDTH),
                "max_norm": In(WIDTH),
                "limited": Out(WIDTH),
                "ready": Out(1),
            }
        )

    @staticmethod
    def latency_of(arithmetic, layers):
        """Clocks from ``complete`` to ``limited``."""
        tree = (layers - 1).bit_length() * arithmetic.add_latency
        root = arithmetic.saturates * ToFloat.LATENCY + Float32Rsqrt.LATENCY + _MULTIPLY
        return tree + root + _ADD + Float32Reciprocal.LATENCY + _MULTIPLY + 1

    @classmethod
    def ready_of(cls, arithmetic, layers):
        """Clocks from ``complete`` to ``ready``."""
        return cls.latency_of(arithmetic, layers) + optimizer_of(arithmetic).CONVERSION

    @staticmethod
    def estimate(config, shape, layers):
        """Resources with these parameters."""
        arithmetic, saturates = config.arithmetic, config.arithmetic.saturates
        width = shape.width + saturates * (layers - 1).bit_length()
        windows = max(0, -(-(width - _WINDOW) // _DROPPED)) if saturates else 0
        return together(
            [
                arith.adder_tree(arithmetic, shape.width, layers),
                *(saturates * [area("arith.to_float", width=_WINDOW)]),
                times(4 + saturates, area("arith.float32.multiply")),
                area("arith.float32.add"),
                area("arith.float32.rsqrt"),
                area("arith.float32.reciprocal"),
                area("learner.network.gradient_norm", fixed=saturates, window=windows * _WINDOW),
            ]
        )

    def elaborate(self, platform):
        m = Module()
        arithmetic = self.config.arithmetic
        total = adder_tree(m, arithmetic, [*self.totals], name="total")
        if arithmetic.saturates:
            square = self._to_float(m, total)
            factor = self._multiply(m, self.scale, square, "scaled_square")
            scaled = delay(m, factor, Float32Rsqrt.LATENCY - _MULTIPLY, name="late_factor")
        else:
            square = total
            scaled = delay(m, square, Float32Rsqrt.LATENCY, name="late_factor")
        inverse = self._unit(m, Float32Rsqrt, square, "rsqrt")
        norm = self._multiply(m, scaled, inverse, "norm")
        # Zero and infinity have themselves as roots.
        late = delay(m, square, Float32Rsqrt.LATENCY + _MULTIPLY, name="late_square")
        given = decode(m, late, name="square")
        norm = Mux(given.zero | given.infinity, late, norm)
        divisor = _FLOAT.add(m, norm, Const(_FLOOR, WIDTH), name="divisor")
        quotient = self._unit(m, Float32Reciprocal, divisor, "reciprocal")
        ratio = self._multiply(m, self.max_norm, quotient, "ratio")
        most = self._multiply(m, self.scale, self.max_norm, "most")
        limited = self._multiply(m, most, quotient, "limited")

        latency, ready = (of(arithmetic, self.layers) for of in (self.latency_of, self.ready_of))
        clock, known = Signal(range(ready + 1)), Signal()
        kept = Signal(WIDTH, name="kept", reset_less=True)
        m.d.comb += [
            self.ready.eq(self.complete & (clock == ready)),
            self.limited.eq(Mux(known, kept, self.scale)),
        ]
        with m.If(~self.complete):
            m.d.sync += clock.eq(0)
        with m.Elif(clock != ready):
            m.d.sync += clock.eq(clock + 1)
        with m.If(self.complete & (clock == latency - 1)):
            m.d.sync += [known.eq(1), kept.eq(Mux(ratio < ONE, limited, self.scale))]
        with m.If(self.clear):
            m.d.sync += known.eq(0)
        return m

    def _to_float(self, m, total):
        """The sum as binary32: of one of 2^62 or more, ``_DROPPED`` bits at a time are dropped."""
        word, dropped = Signal(_WINDOW, name="window"), Signal(8)
        m.d.comb += word.eq(total)
        for low in range(_DROPPED, len(total) - _WINDOW + _DROPPED, _DROPPED):
            with m.If(total[low + _WINDOW - _DROPPED :].any()):
                m.d.comb += [word.eq(total[low:]), dropped.eq(low)]
        bits = to_float(m, word, SQUARE_FRACTION, name="square")
        moved = delay(m, dropped, ToFloat.LATENCY, name="dropped")
        return (bits + Cat(Const(0, PRECISION - 1), moved))[:WIDTH]

    def _multiply(self, m, a, b, name):
        return _FLOAT.multiply(m, a, b, name=name)

    def _unit(self, m, cls, x, name):
        m.submodules[name] = unit = SharedModule(cls)
        m.d.comb += [unit.i.p.x.eq(x), unit.i.valid.eq(1), unit.o.ready.eq(1)]
        return unit.o.p.result
