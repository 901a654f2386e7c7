"""Bit-exact reference for ``hw.gae.intake.intake``: whole planes, a compiled pass over each."""

from typing import NamedTuple

import numpy as np

from hw.gae.records import MOMENTS, Error, Kind
from hw.gae.standardize import NUMBER
from sim.compiled import compiled
from sim.model.gae.statistics.mean_deviation import moments, wrapped

__all__ = ["Intake", "Slots", "square_sums"]

_TINY = float(np.finfo(np.float32).tiny)
_LOW, _HIGH = NUMBER.low, NUMBER.high
_WORD = 32


class Slots(NamedTuple):
    """Slots, oldest first: for each of them and each row its kind, the code of its reward, and the
    code of its value. All are integer arrays [slots, rows]."""

    kinds: np.ndarray
    rewards: np.ndarray
    values: np.ndarray


class Intake:
    """What STATISTICS, PUSH and PUSH_CODES make of slots as they lie in memory. It checks the slots
    and decodes them; it changes no state.

    Arguments of the methods: ``slots`` are the bytes of whole slots, uint8; ``open_rows`` is bool
    [rows], whether the newest slot of a row is a STEP; ``command`` has the fields of the command as
    attributes. A result begins with an ``Error`` and its detail. If the Error is not NONE, the
    values after the detail are None; if it is NONE, the detail is 0.

    Parameters
    ----------
    config : GaeKernelConfig
    """

    def __init__(self, config):
        self.config = config

    def statistics(self, slots, command):
        """STATISTICS: ``(error, detail, moments)``. ``moments`` are the bytes, uint8, of two
        MOMENTS records: of rewards, to which the command's prior sums are added, and of values."""
        kinds, *numbers = self._planes("numbers", slots)
        counts = _counts(kinds)
        error, detail = _first((Error.KIND, kinds > 3), (Error.NUMBER, _infinite(numbers, counts)))
        if error:
            return error, detail, None
        records = _statistics(command, zip(numbers, counts, strict=True))
        return error, 0, np.frombuffer(records.tobytes(), np.uint8)

    def numbers(self, slots, command, open_rows):
        """PUSH: ``(error, detail, slots, clipped)``: the slots as ``Slots``, whose rewards and
        values are standardized to codes, and how many of them were clipped."""
        kinds, *numbers = self._planes("numbers", slots)
        counts = _counts(kinds)
        error, detail = _first(
            *_order(kinds, open_rows), (Error.NUMBER, _infinite(numbers, counts))
        )
        if error:
            return error, detail, None, None
        codes, clipped = [], 0
        for name, plane, counted in zip(("reward", "value"), numbers, counts, strict=True):
            codes.append(np.empty(plane.shape, np.int64))
            clipped += _standardize(
                plane,
                counted,
                2.0 ** getattr(command, f"{name}_exponent"),
                getattr(command, f"{name}_mean"),
                getattr(command, f"{name}_factor"),
                getattr(command, f"{name}_shift"),
                self.config.gae.limit_of(command.code_bits),
                codes[-1],
            )
        return error, 0, Slots(kinds, *codes), clipped

    def codes(self, slots, open_rows):
        """PUSH_CODES: ``(error, detail, slots, 0)``: the slots as ``Slots``. Codes of rewards and
        values that do not count for their kind become 0."""
        kinds, *codes = self._planes("codes", slots)
        counts = _counts(kinds)
        codes = [np.where(count, code, 0) for count, code in zip(counts, codes, strict=True)]
        lowest = np.iinfo(codes[0].dtype).min
        rule = Error.CODE, (codes[0] == lowest) | (codes[1] == lowest)
        error, detail = _first(*_order(kinds, open_rows), rule)
        if error:
            return error, detail, None, None
        return error, 0, Slots(kinds, *codes), 0

    def _planes(self, which, slots):
        """Kinds, rewards, values: [slots, rows] each."""
        gae, beat_bytes = self.config.gae, self.config.engine.beat_bytes
        beats = self.config.slot_beats[which]
        element = np.dtype("<f4" if which == "numbers" else f"<i{gae.code_width // 8}")
        slots = slots.reshape(-1, sum(beats) * beat_bytes)
        planes, begin = [], 0
        for count, dtype in zip(beats, (np.dtype("u1"), element, element), strict=True):
            plane = slots[:, begin : begin + gae.rows * dtype.itemsize]
            planes.append(np.ascontiguousarray(plane).view(dtype))
            begin += count * beat_bytes
        return planes


def _counts(kinds):
    """Whether a reward counts, and whether a value does."""
    return np.isin(kinds, (Kind.STEP.value, Kind.TERMINAL.value)), kinds != Kind.NONE.value


def _order(kinds, open_rows):
    """The rules of kinds, each with a mask of where it is broken."""
    step = kinds == Kind.STEP.value
    after_step = np.concatenate([np.asarray(open_rows, bool)[None], step[:-1]])
    misplaced = (kinds == Kind.BOOTSTRAP.value) & ~after_step
    yield Error.KIND, (kinds > 3) | misplaced
    yield Error.UNFINISHED, (kinds == Kind.NONE.value) & after_step


def _infinite(planes, counts):
    """Mask of the numbers that count and are infinite or NaN."""
    return np.logical_or(*(c & ~np.isfinite(p) for p, c in zip(planes, counts, strict=True)))


def _first(*rules):
    """First error by slot, then by rule, then by row: ``(Error, detail)``."""
    every = np.logical_or.reduce([wrong for _, wrong in rules])
    slots = np.flatnonzero(every.any(axis=1))
    if not slots.size:
        return Error.NONE, 0
    slot = int(slots[0])
    for code, wrong in rules:
        if wrong[slot].any():
            return code, slot * wrong.shape[1] + int(np.argmax(wrong[slot]))


def _statistics(command, planes):
    low, high = command.prior_squares
    priors = (command.prior_count, command.prior_sum, high << 64 | low), (0, 0, 0)
    records = np.zeros(2, MOMENTS.dtype)
    names = "reward", "value"
    for record, prior, name, plane in zip(records, priors, names, planes, strict=True):
        exponent = getattr(command, f"{name}_exponent")
        count, sum_, low, high, clipped = square_sums(*plane, 2.0**exponent)
        squares = (high << _WORD) + low
        sums = wrapped(*(a + b for a, b in zip(prior, (count, sum_, squares), strict=True)))
        record["count"] = sums[0]
        record["sum"] = sums[1]
        record["squares"] = sums[2] & ((1 << 64) - 1), sums[2] >> 64
        record["mean"], record["deviation"] = moments(*sums, exponent)
        record["clipped"] = clipped
    return records


@compiled
def _number(number, power):
    """``(x, clipped)``: a float32 in units of 1 / ``power``, half up."""
    wide = np.float64(number)
    if abs(wide) < _TINY:
        return 0, False
    # Exact in float64 wherever the half matters: a number has 24 significant bits.
    rounded = np.floor(wide * power + 0.5)
    if rounded > _HIGH:
        return _HIGH, True
    if rounded < _LOW:
        return _LOW, True
    return np.int64(rounded), False


@compiled
def _standardize(numbers, counts, power, mean, factor, shift, limit, codes):
    """Fills ``codes``; returns how many were clipped."""
    clips = 0
    half = 1 << (shift - 1)
    for slot in range(numbers.shape[0]):
        for row in range(numbers.shape[1]):
            codes[slot, row] = 0
            if counts[slot, row]:
                x, clipped = _number(numbers[slot, row], power)
                code = ((x - mean) * factor + half) >> shift
                if code > limit:
                    code, clipped = limit, True
                elif code < -limit:
                    code, clipped = -limit, True
                codes[slot, row] = code
                clips += clipped
    return clips


@compiled
def square_sums(numbers, counts, power):
    """``count, sum, low, high, clipped``. The sum of squares needs more than 64 bits: it is high *
    2**32 + low."""
    count = total = low = high = clips = 0
    for slot in range(numbers.shape[0]):
        for row in range(numbers.shape[1]):
            if counts[slot, row]:
                x, clipped = _number(numbers[slot, row], power)
                count += 1
                total += x
                low += (x * x) & 0xFFFFFFFF
                high += (x * x) >> _WORD
                clips += clipped
    return count, total, low, high, clips
