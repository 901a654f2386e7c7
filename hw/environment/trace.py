"""Symbolic fixed-point numbers of a task, and the operations that compute them.

A number is a 32-bit word with a fraction: ``value = word * 2**-fraction``. The tracer knows bounds
of each value, and gives each result the largest fraction that fits its bounds. A product is
shifted by 24 to 31 bits, so its fraction can be chosen within 8 bits; operands of sums and
comparisons must have one fraction, which costs a further product only if neither operand is a
product or a constant. Operations of equal operands are one operation.
"""

import math
import sys
from dataclasses import dataclass

from hw.errors import UsageError

__all__ = ["HIGH", "LOW", "SHIFTS", "Condition", "Number", "Operation", "Trace"]
__all__ += ["clip", "cosine", "fraction_of", "maximum", "minimum", "polynomial", "sine", "where"]

LOW, HIGH = -(1 << 31), (1 << 31) - 1
#: shifts of a product
SHIFTS = range(24, 32)
#: Most fraction bits of a result: small terms of a sum then need no shift of their own.
_MOST_FRACTION = 30
#: Constants may have more; beyond this, a factor is as good as zero.
_MOST_OF_CONSTANT = 55


def _raw(value, fraction):
    """``floor(value * 2**fraction + 1/2)``."""
    scaled = math.ldexp(value, fraction)
    below = math.floor(scaled)
    return below + (scaled - below >= 0.5)


def _fits(low, high, fraction):
    """Whether words hold the bounds; 2^31, such as the square of -2^31, is clipped by one unit."""
    return LOW <= _raw(low, fraction) and _raw(high, fraction) <= HIGH + 1


def _place():
    """The line of the task that is traced, such as ``cartpole.py line 40``."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f"{frame.f_code.co_filename.rpartition('/')[2]} line {frame.f_lineno}"


@dataclass(frozen=True)
class Operation:
    """One operation of a trace.

    name : ``STATE``, ``ACTION`` (inputs, ``value`` is which), ``CONSTANT`` (``value`` is the word),
        ``RANDOM`` (``value`` is which), ``STORED`` (its operand, in a register of the state), or
        ``MUL``, ``ADD``, ``SUB``, ``MIN``, ``MAX``, ``SELECT``.
    operands : indexes of operations in the trace. ``SELECT(x, y, a, b)`` is ``x < y ? a : b``.
    value : the shift of ``MUL``; None for the others.
    """

    name: str
    operands: tuple = ()
    value: int | None = None


class Trace:
    """The operations of one function of a task, in an order of computation.

    Attributes
    ----------
    operations : list of Operation
    """

    def __init__(self):
        self.operations, self._index, self._operands = [], {}, []
        self._randoms = 0

    def number(self, name, operands, fraction, low, high, value=None):
        """The Number that ``name`` gives of the Numbers ``operands``, with these bounds."""
        operation = Operation(name, tuple(each.index for each in operands), value)
        index = self._index.setdefault(operation, len(self.operations))
        if index == len(self.operations):
            self.operations.append(operation)
            self._operands.append(tuple(operands))
        return Number(self, index, fraction, low, high)

    def constant(self, value):
        """The Number of a Python number, with as many fraction bits as its word can hold."""
        value = float(value)
        fraction = fraction_of(value, value, _MOST_OF_CONSTANT)
        return Number(self, None, fraction - (_raw(value, fraction) > HIGH), value, value)

    def random(self, low, high):
        """A Number that is uniform in [low, high), of 32 random bits."""
        if not low < high:
            raise UsageError(f"random must be in a range that is not empty, not {low}..{high}")
        word = self.number("RANDOM", (), 31, -1.0, 1.0 - 2.0**-31, self._randoms)
        self._randoms += 1
        number = word * ((high - low) / 2)
        middle = (low + high) / 2
        return (number + middle if middle else number).within(low, high)

    def operands(self, number):
        """The operands of ``number``, with their bounds."""
        return self._operands[number.index]


def fraction_of(low, high, most=_MOST_FRACTION):
    """The largest fraction that fits the bounds into a word; UsageError without one."""
    fraction = most
    while fraction >= 0 and not _fits(low, high, fraction):
        fraction -= 1
    if fraction < 0:
        raise UsageError(
            f"{_place()}: a number must have a format of 32 bits, not bounds {low:g}..{high:g}"
        )
    return fraction


class Number:
    """A number of a task: ``+ - *`` and unary ``-`` with numbers and with Python's, ``abs``, and
    ``<``, ``<=``, ``>``, ``>=``, which give a Condition.

    Parameters
    ----------
    trace : Trace
    index : int or None
        Its operation; None for a constant, whose word is chosen where it is used.
    fraction : int
    low, high : float
        Bounds of its value.
    """

    __hash__ = object.__hash__

    def __init__(self, trace, index, fraction, low, high):
        self.trace, self.index, self.fraction, self.low, self.high = (
            trace, index, fraction, low, high
        )  # fmt: skip

    def within(self, low, high):
        """The same number, of which the task promises that it lies in [low, high]: a promise costs
        no instruction, and gives later results more fraction bits. Numbers outside are computed
        as all are, and clipped where they leave their format."""
        low, high = max(float(low), self.low), min(float(high), self.high)
        if low > high:
            raise UsageError(f"{_place()}: bounds must overlap {self.low:g}..{self.high:g}")
        found = self
        if not self._is_constant:
            name, operands = self.trace.operations[self.index].name, self.trace.operands(self)
            if name == "MUL":
                most = sum(each.fraction for each in operands) - SHIFTS[0]
            else:
                most = min((each.fraction for each in operands), default=0)
            fraction = min(fraction_of(low, high), most)
            if name in ("MUL", "ADD", "SUB") and fraction > self.fraction:
                found = self.at(fraction) if self._is_free(fraction) else self
        return Number(self.trace, found.index, found.fraction, low, high)

    def at(self, fraction):
        """The number with another fraction; no instruction is spent if a product, a sum of products
        or a constant can be computed with it at once."""
        if fraction == self.fraction and self.index is not None:
            return self
        trace = self.trace
        if self._is_constant:
            if not _fits(self.low, self.low, fraction):
                raise UsageError(
                    f"{_place()}: a constant must have a format with {fraction} fraction bits, "
                    f"which {self.low:g} has not"
                )
            word = min(_raw(self.low, fraction), HIGH)
            return trace.number("CONSTANT", (), fraction, self.low, self.low, word)
        if self._is_free(fraction):
            name, operands = trace.operations[self.index].name, trace.operands(self)
            if name == "MUL":
                return self._product(*operands, fraction)
            if name == "SELECT":
                left, right, *chosen = operands
                operands = left, right, *(each.at(fraction) for each in chosen)
            else:
                operands = [each.at(fraction) for each in operands]
            return trace.number(name, operands, fraction, self.low, self.high)
        down = self.fraction - fraction
        shift = SHIFTS[-1] if down > 0 else SHIFTS[0]
        if not 0 <= shift - down < 31:
            raise UsageError(
                f"{_place()}: a number must have a shift of {SHIFTS[0]}..{SHIFTS[-1]} from "
                f"{self.fraction} fraction bits to {fraction}"
            )
        one = trace.constant(1).at(shift - down)
        return trace.number("MUL", (self, one), fraction, self.low, self.high, shift)

    @property
    def _is_constant(self):
        return self.index is None or self.trace.operations[self.index].name == "CONSTANT"

    @property
    def _word(self):
        return self.trace.operations[self.index].value

    def _is_free(self, fraction):
        """Whether ``at`` costs no instruction beyond the number's own."""
        if self._is_constant:
            return _fits(self.low, self.low, fraction)
        if fraction == self.fraction:
            return True
        operation, sources = self.trace.operations[self.index], self.trace.operands(self)
        if operation.name == "MUL":
            a, b = sources
            shift = a.fraction + b.fraction - fraction
            return shift in SHIFTS or (shift > SHIFTS[-1] and (a._is_constant or b._is_constant))
        if operation.name not in ("ADD", "SUB", "MIN", "MAX", "SELECT"):
            return False
        parts = sources[2:] if operation.name == "SELECT" else sources
        return all(
            _fits(each.low, each.high, fraction) and each._is_free(fraction) for each in parts
        )

    def _product(self, a, b, fraction):
        """The product with a fraction that a shift allows; a constant factor has no more fraction
        bits than that."""
        low, high = _product_bounds(a, b)
        below = a.fraction + b.fraction - fraction - SHIFTS[-1]
        if below > 0 and a._is_constant:
            a = a.at(a.fraction - below)
        elif below > 0 and b._is_constant:
            b = b.at(b.fraction - below)
        shift = a.fraction + b.fraction - fraction
        if shift not in SHIFTS:
            raise UsageError(
                f"{_place()}: a product must have a shift of {SHIFTS[0]}..{SHIFTS[-1]}, not of "
                f"{shift}"
            )
        for one, other in ((a, b), (b, a)):
            if other.fraction == fraction and one._is_constant and one._word == 1 << shift:
                return Number(self.trace, other.index, fraction, low, high)
        return self.trace.number("MUL", (a, b), fraction, low, high, shift)

    def _other(self, other):
        return other if isinstance(other, Number) else self.trace.constant(other)

    def __mul__(self, other):
        other = self._other(other)
        if self.index is None and other.index is None:
            return self.trace.constant(self.low * other.low)
        low, high = _product_bounds(self, other)
        a, b = (each.at(each.fraction) for each in (self, other))
        fraction = min(fraction_of(low, high), a.fraction + b.fraction - SHIFTS[0])
        return self._product(a, b, fraction)

    def _sum(self, name, other, low, high):
        fraction = min(self.fraction, other.fraction, fraction_of(low, high))
        operands = self.at(fraction), other.at(fraction)
        return self.trace.number(name, operands, fraction, low, high)

    def __add__(self, other):
        other = self._other(other)
        low, high = self.low + other.low, self.high + other.high
        if self.index is None and other.index is None:
            return self.trace.constant(low)
        return self._sum("ADD", other, low, high)

    def __sub__(self, other):
        other = self._other(other)
        low, high = self.low - other.high, self.high - other.low
        if self.index is None and other.index is None:
            return self.trace.constant(low)
        return self._sum("SUB", other, low, high)

    def __rsub__(self, other):
        return self._other(other) - self

    def __neg__(self):
        return 0 - self

    def __abs__(self):
        return maximum(self, -self)

    def __lt__(self, other):
        return Condition.less(self, self._other(other))

    def __gt__(self, other):
        return Condition.less(self._other(other), self)

    def __le__(self, other):
        return ~(self > other)

    def __ge__(self, other):
        return ~(self < other)

    def __bool__(self):
        raise UsageError(f"{_place()}: a number must be used by where, not by if, and, or, not")

    def __eq__(self, other):
        raise UsageError(f"{_place()}: numbers must be compared by <, not by ==")

    __radd__, __rmul__ = __add__, __mul__


def _product_bounds(a, b):
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    square = a.index is not None and a.index == b.index
    return 0.0 if square and a.low < 0 < a.high else min(ends), max(ends)


class Condition:
    """``x < y``, or with ``negated`` the opposite; ``|``, ``&`` and ``~`` give Conditions."""

    def __init__(self, x, y, negated=False):
        self.x, self.y, self.negated = x, y, negated

    @classmethod
    def less(cls, x, y):
        fraction = min(x.fraction, y.fraction)
        return cls(x.at(fraction), y.at(fraction))

    def select(self, a, b):
        """The Number ``a`` where the condition holds, else ``b``."""
        a, b = (b, a) if self.negated else (a, b)
        low, high = min(a.low, b.low), max(a.high, b.high)
        fraction = min(a.fraction, b.fraction, fraction_of(low, high))
        operands = self.x, self.y, a.at(fraction), b.at(fraction)
        return self.x.trace.number("SELECT", operands, fraction, low, high)

    def word(self):
        """The Number whose word is 1 where the condition holds, else 0."""
        constant = self.x.trace.constant
        x, y = self.x, self.y
        is_word = y.fraction == 0 and y.low >= 0 and y.high == 1
        if not self.negated and x.low == x.high == 0 and is_word:
            return y
        return self.select(constant(1).at(0), constant(0).at(0))

    def _of(self, word):
        return Condition(word.trace.constant(0).at(0), word)

    def __or__(self, other):
        return self._of(other.select(self.x.trace.constant(1).at(0), self.word()))

    def __and__(self, other):
        return self._of(other.select(self.word(), self.x.trace.constant(0).at(0)))

    def __invert__(self):
        return Condition(self.x, self.y, not self.negated)

    def __bool__(self):
        raise UsageError(
            f"{_place()}: a condition must be used by where, | and &, not by if, and, or"
        )


def _pair(a, b):
    trace = next((each.trace for each in (a, b) if isinstance(each, Number)), None)
    if trace is None:
        raise UsageError(f"{_place()}: one operand must be a number of the task, not {a!r}, {b!r}")
    return tuple(each if isinstance(each, Number) else trace.constant(each) for each in (a, b))


def where(condition, a, b):
    """``a`` where the Condition holds, else ``b``."""
    trace = condition.x.trace
    a, b = (each if isinstance(each, Number) else trace.constant(each) for each in (a, b))
    return condition.select(a, b)


def minimum(a, b):
    """The smaller of two numbers."""
    a, b = _pair(a, b)
    return a._sum("MIN", b, min(a.low, b.low), min(a.high, b.high))


def maximum(a, b):
    """The larger of two numbers."""
    a, b = _pair(a, b)
    return a._sum("MAX", b, max(a.low, b.low), max(a.high, b.high))


def clip(number, low, high):
    """``number``, not below ``low`` and not above ``high``."""
    return minimum(maximum(number, low), high)


def polynomial(x, *coefficients):
    """``c0 + c1 x + c2 x^2 + ...``, by Horner's rule: a product and a sum for each power."""
    result = x.trace.constant(coefficients[-1])
    for each in coefficients[-2::-1]:
        result = x * result + each
    return result


#: Minimax polynomial of the sine on [-pi/2, pi/2], error 3.4e-9, and 2e-8 with
#: coefficients of 30 fraction bits; of powers 1, 3, 5, 7, 9.
_SINE = (
    0.9999999765745805, -0.16666647624706124, 0.008332899654129925, -0.00019800887306074884,
    2.5904673016993924e-06,
)  # fmt: skip


def sine(angle):
    """The sine of an angle in radians, whose bounds must be in [-3 pi / 2, 3 pi / 2]: an angle
    beyond a quarter turn is folded back, then an odd polynomial follows."""
    quarter = math.pi / 2
    if angle.low < -3.001 * quarter or angle.high > 3.001 * quarter:
        raise UsageError(
            f"{_place()}: an angle must be within 3/4 of a turn, not {angle.low:g}..{angle.high:g}"
        )
    if angle.high > quarter:
        angle = minimum(angle, math.pi - angle)
    if angle.low < -quarter - 1e-9:
        angle = maximum(angle, -math.pi - angle)
    angle = angle.within(-1.6, 1.6)
    return angle * polynomial(angle * angle, *_SINE)


def cosine(angle):
    """The cosine of an angle in radians, whose bounds must be in [-pi, pi]."""
    return sine(math.pi / 2 - abs(angle))
