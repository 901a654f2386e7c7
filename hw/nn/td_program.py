"""TD error, its gradient and the Huber loss by one multiplier and one adder, a step at a time.

The results equal ``TdLoss`` bit for bit; formulas, order of rounding and ports are the same.
A sample takes as many clocks as a learner with few multipliers leaves it, and a tenth of the area.
A step ::

    clock 0         1               2 to 7               8
    a is read  ->   b is read  ->   multiplier, adder -> result is written
"""

from typing import NamedTuple

from amaranth import *
from amaranth.lib import data, memory
from amaranth.lib.enum import Enum

from hw.area import area
from hw.arith import estimate as arith
from hw.arith.binary32 import Binary32
from hw.arith.float32.format import WIDTH
from hw.estimate import together
from hw.nn.batch_sum import PARTS
from hw.nn.td_loss import LossPipeline
from hw.stream.delay import delay
from hw.stream.ram import shallow_memory

__all__ = ["TdProgram"]

_FLOAT = Binary32()
_STEP_CLOCKS = 2 + max(_FLOAT.multiply_latency, _FLOAT.add_latency) + 1
_SUMS = ("loss", "td", "value")
#: Words of the register file: the partial sums, then eight others.
_WORDS = (len(_SUMS) + 1) * PARTS


class _Unit(Enum, shape=2):
    LOAD = 0  # the input with number a
    MULTIPLY = 1
    ADD = 2
    CLIP = 3  # a, limited


class _Change(Enum, shape=2):
    """How b enters a sum."""

    NONE = 0
    NEGATE = 1
    MINUS_HALF = 2
    MAGNITUDE = 3


class _Step(NamedTuple):
    """``to = unit(a, b)``. Registers 0 to 23 are the partial sums.

    term : the place of the next term of a batch's sum is added to ``a`` and ``to``.
    shows : output that shows the result, or nothing.
    """

    unit: _Unit
    to: int
    a: int
    b: int = 0
    change: _Change = _Change.NONE
    term: bool = False
    shows: str | None = None


#: Inputs of a sample, by their numbers; the first are activations.
_INPUTS = ("q", "bootstrap", "value", "weight", "reward", "discount", "inverse")
_X, _Y, _TD, _CLIPPED, _WEIGHT = range(len(_SUMS) * PARTS, len(_SUMS) * PARTS + 5)


def _load(to, name):
    return _Step(_Unit.LOAD, to, _INPUTS.index(name))


def _term(number, b, change=_Change.NONE):
    return _Step(_Unit.ADD, number * PARTS, number * PARTS, b, change, term=True)


#: X and Y hold factors and sums that the next steps take.
_SAMPLE = (
    _load(_X, "discount"),
    _load(_Y, "bootstrap"),
    _Step(_Unit.MULTIPLY, _X, _X, _Y),
    _load(_Y, "reward"),
    _Step(_Unit.ADD, _X, _Y, _X),
    _load(_Y, "q"),
    _Step(_Unit.ADD, _TD, _Y, _X, _Change.NEGATE, shows="td"),
    _Step(_Unit.CLIP, _CLIPPED, _TD),
    _load(_X, "weight"),
    _load(_Y, "inverse"),
    _Step(_Unit.MULTIPLY, _WEIGHT, _X, _Y),
    _Step(_Unit.MULTIPLY, _X, _CLIPPED, _WEIGHT, shows="gradient"),
    _Step(_Unit.ADD, _X, _TD, _CLIPPED, _Change.MINUS_HALF),
    _Step(_Unit.MULTIPLY, _X, _CLIPPED, _X),
    _Step(_Unit.MULTIPLY, _X, _X, _WEIGHT),
    _load(_Y, "value"),
    _term(0, _X),
    _term(1, _TD, _Change.MAGNITUDE),
    _term(2, _Y),
)


def _fold():
    """The steps that add partial sum k + half to k, for each half."""
    half = PARTS // 2
    while half:
        for number, name in enumerate(_SUMS):
            for k in range(number * PARTS, number * PARTS + half):
                last = f"{name}_sum" if half == 1 else None
                yield _Step(_Unit.ADD, k, k, k + half, shows=last)
        half //= 2


_PROGRAM = (*_SAMPLE, *_fold())
_SHOWN = ("td", "gradient", *(f"{name}_sum" for name in _SUMS))


class TdProgram(LossPipeline):
    """The results of ``TdLoss``, whose members it has, for a sample in ``INTERVAL`` clocks.

    A sample may come ``INTERVAL`` clocks after the one before. ``clear`` may come in any clock
    without a sample inside, ``fold`` with the ``done`` of the last sample or later.

    Parameters
    ----------
    arithmetic : Arithmetic
        As of TdLoss.

    Attributes
    ----------
    td_latency, gradient_latency, latency : int
        Clocks from a sample to its TD error, to its gradient, to ``done``.
    """

    INTERVAL = _STEP_CLOCKS * len(_SAMPLE)
    FOLD_LATENCY = 1 + _STEP_CLOCKS * (len(_PROGRAM) - len(_SAMPLE))

    @classmethod
    def latency_of(cls, arithmetic):
        """Clocks from a sample to ``done``."""
        return cls.INTERVAL

    @staticmethod
    def latencies_of(arithmetic):
        """``(td_latency, gradient_latency)``: clocks from a sample in ``i`` to its TD error and to
        its gradient."""
        td, gradient = (
            _STEP_CLOCKS * (1 + [step.shows for step in _SAMPLE].index(name))
            for name in ("td", "gradient")
        )
        return td, gradient + arithmetic.quantize_latency

    @staticmethod
    def estimate(arithmetic):
        """Resources."""
        return together(
            [
                area("arith.float32.multiply"),
                arith.add(_FLOAT),
                arith.to_float(arithmetic, "activation"),
                arith.quantize(arithmetic, "gradient"),
                shallow_memory(WIDTH, _WORDS),
                area("nn.td_program", late=bool(arithmetic.to_float_latency)),
            ]
        )

    def elaborate(self, platform):
        m = Module()
        arithmetic = self.arithmetic
        step, clock, runs = Signal(range(len(_PROGRAM))), Signal(range(_STEP_CLOCKS)), Signal()
        sample, now = Signal.like(self.i, reset_less=True), self._instruction(m, step)
        ends = Signal()
        m.d.comb += ends.eq(runs & (clock == _STEP_CLOCKS - 1))
        with m.If(runs):
            m.d.sync += clock.eq(Mux(ends, 0, clock + 1))
        with m.If(ends):
            m.d.sync += step.eq(step + 1)
            with m.If((step == len(_SAMPLE) - 1) | (step == len(_PROGRAM) - 1)):
                m.d.sync += runs.eq(0)
        with m.If(self.i.valid):
            m.d.sync += [sample.eq(self.i), runs.eq(1), step.eq(0)]
        with m.If(self.fold):
            m.d.sync += [runs.eq(1), step.eq(len(_SAMPLE))]

        a, b, write = self._operands(m, now, clock, ends)
        change = Signal(WIDTH)
        with m.Switch(now.change):
            with m.Case(_Change.NEGATE):
                m.d.comb += change.eq(b ^ (1 << (WIDTH - 1)))
            with m.Case(_Change.MINUS_HALF):
                m.d.comb += change.eq(_FLOAT.scaled_down(b, 1) ^ (1 << (WIDTH - 1)))
            with m.Case(_Change.MAGNITUDE):
                m.d.comb += change.eq(b[:-1])
            with m.Default():
                m.d.comb += change.eq(b)
        product = _FLOAT.multiply(m, a, b, name="product")
        total = _FLOAT.add(m, a, change, name="total")
        beyond = a[:-1] > self.clip[:-1]
        with m.Switch(now.unit):
            with m.Case(_Unit.MULTIPLY):
                m.d.comb += write.eq(product)
            with m.Case(_Unit.ADD):
                m.d.comb += write.eq(total)
            with m.Case(_Unit.CLIP):
                m.d.comb += write.eq(Mux(beyond, Cat(self.clip[:-1], a[-1]), a))
            with m.Default():
                m.d.comb += write.eq(self._loaded(m, sample, now.a))

        gradient, saturated = arithmetic.quantize(m, product, kind="gradient", name="gradient_raw")
        shown = {name: ends & now.shows[k] for k, name in enumerate(_SHOWN)}
        late = delay(m, shown["gradient"], arithmetic.quantize_latency, name="gradient", reset=True)
        m.d.comb += [
            self.td.valid.eq(shown["td"]),
            self.td.value.eq(total),
            self.gradient.valid.eq(late),
            self.gradient.value.eq(gradient),
            self.gradient.saturated.eq(saturated),
            self.done.eq(ends & (step == len(_SAMPLE) - 1)),
        ]
        m.d.sync += self.folded.eq(ends & (step == len(_PROGRAM) - 1))
        for name in _SUMS:
            with m.If(shown[f"{name}_sum"]):
                m.d.sync += self._sum(name).eq(total)
        return m

    def _sum(self, name):
        return {"loss": self.loss_sum, "td": self.td_sum, "value": self.value_sum}[name]

    def _instruction(self, m, step):
        """The step that is done, as a signal."""
        place = range(_WORDS)
        now = Signal(
            data.StructLayout(
                {"unit": _Unit, "to": place, "a": place, "b": place, "change": _Change,
                 "term": 1, "shows": len(_SHOWN)}
            )
        )  # fmt: skip
        with m.Switch(step):
            for number, each in enumerate(_PROGRAM):
                with m.Case(number):
                    fields = each._asdict()
                    fields["shows"] = sum(
                        1 << k for k, name in enumerate(_SHOWN) if name == each.shows
                    )
                    m.d.comb += [now[name].eq(value) for name, value in fields.items()]
        return now

    def _operands(self, m, now, clock, ends):
        """``(a, b, write)``: the operands, from clocks 1 and 2 on, and the word that is written in
        the last clock. A partial sum that has no term yet is read as +0."""
        m.submodules.file = file = memory.Memory(shape=unsigned(WIDTH), depth=_WORDS, init=[])
        read, write = file.read_port(domain="comb"), file.write_port()
        place, filled = Signal(range(PARTS)), Signal(range(PARTS + 1))
        address, term = Signal(range(_WORDS)), Mux(now.term, place, 0)
        partial, word = address < len(_SUMS) * PARTS, Signal(WIDTH)
        width = (PARTS - 1).bit_length()
        m.d.comb += [
            address.eq(Mux(clock == 0, now.a | term, now.b)),
            read.addr.eq(address),
            word.eq(Mux(partial & (address[:width] >= filled), 0, read.data)),
            write.addr.eq(now.to | term),
            write.en.eq(ends),
        ]
        a, b = Signal(WIDTH, reset_less=True), Signal(WIDTH, reset_less=True)
        with m.If(clock == 0):
            m.d.sync += a.eq(word)
        with m.If(clock == 1):
            m.d.sync += b.eq(word)
        with m.If(self.done):
            m.d.sync += [place.eq(place + 1), filled.eq(Mux(filled == PARTS, PARTS, filled + 1))]
        with m.If(self.clear):
            m.d.sync += [place.eq(0), filled.eq(0)]
        return a, b, write.data

    def _loaded(self, m, sample, number):
        """The input with this number as binary32, the same in all clocks of a step."""
        activation = Signal(self.arithmetic.shape("activation"))
        numbers = [sample.q, sample.bootstrap, sample.value]
        others = [sample.weight, sample.reward, sample.discount, self.inverse]
        word, chosen = Signal(WIDTH), Signal(WIDTH)
        for at, (signal, inputs) in enumerate(((activation, numbers), (word, others))):
            with m.Switch(number):
                for place, value in enumerate(inputs, at * len(numbers)):
                    with m.Case(place):
                        m.d.comb += signal.eq(value)
        number_float = self.arithmetic.to_float(m, activation, kind="activation", name="loaded")
        m.d.comb += chosen.eq(Mux(number < len(numbers), number_float, word))
        return chosen
