"""TD error, its gradient and the Huber loss: one binary32 pipeline, free-running, for all lanes.

For q, the bootstrap value q', the reward r, the discount d, the weight p and the limit c:

    td = q - (r + d * q');  w = p * inverse;  clipped = td limited to -c..c
    gradient = clipped * w;  loss = clipped * (td - clipped / 2) * w

Every operation is rounded, in the written order. A sample may come in every clock; the sums of a
batch have the order of ``hw.nn.batch_sum``.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.area import area
from hw.arith import estimate as arith
from hw.arith.binary32 import Binary32
from hw.arith.float32.format import EXPONENT_MAX, PRECISION, WIDTH
from hw.estimate import times, together
from hw.nn.batch_sum import BatchSum
from hw.stream.delay import delay

__all__ = ["HUBER_LATENCIES", "LossPipeline", "TdLoss", "huber", "is_finite", "td_ports"]

_FLOAT = Binary32()
_MULTIPLY, _ADD = _FLOAT.multiply_latency, _FLOAT.add_latency
_SIGN = 1 << (WIDTH - 1)
#: Clocks of ``huber`` from a TD error to its gradient and to its loss.
HUBER_LATENCIES = 1 + _MULTIPLY, 1 + 3 * _MULTIPLY + _ADD


def td_ports(arithmetic):
    """The members of a ``TdLoss``."""
    activation = arithmetic.shape("activation")
    sample = data.StructLayout(
        {
            "valid": 1,
            **dict.fromkeys(("q", "bootstrap", "value"), activation),
            **dict.fromkeys(("weight", "reward", "discount"), WIDTH),
        }
    )
    gradient = {"valid": 1, "value": arithmetic.shape("gradient"), "saturated": 1}
    return {
        "i": In(sample),
        "inverse": In(WIDTH),
        "clip": In(WIDTH),
        "clear": In(1),
        "fold": In(1),
        "folded": Out(1),
        "td": Out(data.StructLayout({"valid": 1, "value": WIDTH})),
        "gradient": Out(data.StructLayout(gradient)),
        "done": Out(1),
        "loss_sum": Out(WIDTH),
        "td_sum": Out(WIDTH),
        "value_sum": Out(WIDTH),
    }


class LossPipeline(wiring.Component):
    """Base class of units that compute losses and their gradients, with the members of ``TdLoss``.

    A subclass defines ``latency_of`` and ``latencies_of``, as ``TdLoss`` does.

    Parameters
    ----------
    arithmetic : Arithmetic
        As of ``TdLoss``.
    ports : dict
        The members; by default as of ``TdLoss``.
    """

    FOLD_LATENCY = BatchSum.FOLD_LATENCY

    def __init__(self, arithmetic, ports=None):
        self.arithmetic = arithmetic
        self.td_latency, self.gradient_latency = self.latencies_of(arithmetic)
        self.latency = self.latency_of(arithmetic)
        super().__init__(ports or td_ports(arithmetic))

    def valids(self, m):
        """``i.valid`` of the clocks before: the one of ``k`` clocks ago for k = 0..latency."""
        valids = [self.i.valid]
        for clock in range(1, self.latency + 1):
            valids.append(delay(m, valids[-1], 1, name=f"valid_{clock}", reset=True))
        return valids

    def add_up(self, m, *sums):
        """Adds to ``m`` a ``BatchSum`` for each ``(output, valid, term)``."""
        for total, valid, term in sums:
            m.submodules[total.name] = batch_sum = BatchSum()
            m.d.comb += [
                batch_sum.i.valid.eq(valid),
                batch_sum.i.value.eq(term),
                batch_sum.clear.eq(self.clear),
                batch_sum.fold.eq(self.fold),
                total.eq(batch_sum.total),
            ]
        m.d.comb += self.folded.eq(batch_sum.folded)  # as in all of them


class TdLoss(LossPipeline):
    """TD error, gradient and Huber loss of samples, one sample a clock, and sums over a batch::

        td = q - (r + d * q');  w = p * inverse;  clipped = td limited to -c..c
        gradient = clipped * w;  loss = clipped * (td - clipped / 2) * w

    Parameters
    ----------
    arithmetic : Arithmetic
        Of q, bootstrap and value (kind "activation") and of the gradient; all other numbers are
        binary32.

    Members
    -------
    i : In({valid, q, bootstrap, value, weight, reward, discount})
        A sample if ``valid``: q, the bootstrap value q', the number that ``value_sum`` adds up, the
        importance weight p, the reward r and the discount d.
    inverse : In(32)
        Reciprocal of the batch's largest weight. Steady while samples are inside.
    clip : In(32)
        Limit c of the TD error; infinity for no limit. Steady while samples are inside.
    clear : In(1)
        A pulse: a batch begins, and the sums begin at +0. Not while samples are inside.
    fold : In(1), folded : Out(1)
        ``fold``, a pulse not before the last sample of the batch is ``done``: complete the sums.
        ``folded``, a pulse ``FOLD_LATENCY`` clocks later: the sums are there.
    td : Out({valid, value})
        The TD error, ``td_latency`` clocks after ``i``.
    gradient : Out({valid, value, saturated})
        The gradient, and whether it was clipped to its format, ``gradient_latency`` clocks after
        ``i``.
    done : Out(1)
        A pulse for each sample, ``latency`` clocks after ``i``: this sample is in all partial sums.
    loss_sum, td_sum, value_sum : Out(32)
        From ``folded`` until the next ``clear``: the batch's sums of losses, of absolute TD
        errors, of values, in the order of ``BatchSum``.
    """

    @classmethod
    def latency_of(cls, arithmetic):
        """Clocks from a sample to ``done``."""
        td, _ = cls.latencies_of(arithmetic)
        return td + HUBER_LATENCIES[1] + BatchSum.LATENCY

    @staticmethod
    def latencies_of(arithmetic):
        """``(td_latency, gradient_latency)``: clocks from a sample in ``i`` to its TD error and to
        its gradient."""
        td = arithmetic.to_float_latency + _MULTIPLY + 2 * _ADD
        return td, td + HUBER_LATENCIES[0] + arithmetic.quantize_latency

    @staticmethod
    def estimate(arithmetic):
        """Resources."""
        number = arith.to_float(arithmetic, "activation")
        return together(
            [
                times(3, area("nn.batch_sum"), area("arith.float32.add"), number),
                times(5, area("arith.float32.multiply")),  # a half needs none
                arith.quantize(arithmetic, "gradient"),
                # What waits beside the pipeline, the clip, and a valid a clock.
                area("nn.td_loss", late=bool(arithmetic.to_float_latency)),
            ]
        )

    def elaborate(self, platform):
        m = Module()
        arithmetic, i, td_at = self.arithmetic, self.i, self.td_latency
        valid_at = self.valids(m)

        start = arithmetic.to_float_latency
        q, bootstrap, value = (
            arithmetic.to_float(m, getattr(i, name), kind="activation", name=f"{name}_float")
            for name in ("q", "bootstrap", "value")
        )
        reward, discount = i.reward, delay(m, i.discount, start, name="discount")

        # Target and TD error.
        future = _FLOAT.multiply(m, discount, bootstrap, name="future")
        y_at = start + _MULTIPLY
        y = _FLOAT.add(m, delay(m, reward, y_at, name="reward"), future, name="y")
        late_q = delay(m, q, _MULTIPLY + _ADD, name="late_q")
        td = _FLOAT.add(m, late_q, y ^ _SIGN, name="td_error")

        weight = _FLOAT.multiply(m, i.weight, self.inverse, name="weight")
        weight = delay(m, weight, td_at + 1 - _MULTIPLY, name="late_weight")
        gradient, loss = huber(m, td, self.clip, (weight, weight))
        loss_at = self.latency - BatchSum.LATENCY

        gradient, saturated = arithmetic.quantize(m, gradient, kind="gradient", name="gradient_raw")
        m.d.comb += [
            self.td.valid.eq(valid_at[td_at]),
            self.td.value.eq(td),
            self.gradient.valid.eq(valid_at[self.gradient_latency]),
            self.gradient.value.eq(gradient),
            self.gradient.saturated.eq(saturated),
            self.done.eq(valid_at[self.latency]),
        ]
        self.add_up(
            m,
            (self.loss_sum, valid_at[loss_at], loss),
            (self.td_sum, valid_at[td_at], Cat(td[:-1], Const(0, 1))),
            (self.value_sum, valid_at[start], value),
        )
        return m


def huber(m, td, clip, weights, *, prefix=""):
    """``(gradient, loss)`` of the TD error ``td``, ``HUBER_LATENCIES`` clocks later: ``clipped *
    weights[0]`` and ``clipped * (td - clipped / 2) * weights[1]``. ``weights`` come a clock after
    ``td``. Names in ``m`` begin with ``prefix``."""
    # As integers, magnitudes have the same order as the numbers.
    clipped = Signal(WIDTH, name=f"{prefix}clipped", reset_less=True)
    beyond = td[:-1] > clip[:-1]
    m.d.sync += clipped.eq(Mux(beyond, Cat(clip[:-1], td[-1]), td))
    gradient = _FLOAT.multiply(m, clipped, weights[0], name=f"{prefix}gradient_product")

    half = delay(m, _FLOAT.scaled_down(clipped, 1), _MULTIPLY, name=f"{prefix}half")
    late_td = delay(m, td, 1 + _MULTIPLY, name=f"{prefix}late_td")
    excess = _FLOAT.add(m, late_td, half ^ _SIGN, name=f"{prefix}excess")
    late_clipped = delay(m, clipped, _MULTIPLY + _ADD, name=f"{prefix}late_clipped")
    square = _FLOAT.multiply(m, late_clipped, excess, name=f"{prefix}square")
    late_weight = delay(m, weights[1], 2 * _MULTIPLY + _ADD, name=f"{prefix}last_weight")
    return gradient, _FLOAT.multiply(m, square, late_weight, name=f"{prefix}loss")


def is_finite(number):
    """1 if ``number``, a Value of 32 bits, is a finite binary32; 0 if it is infinite or a NaN."""
    return number[PRECISION - 1 : WIDTH - 1] != EXPONENT_MAX
