"""round_and_encode: sums to numbers to cells, against the formulas in Python's integers."""

import numpy as np
import pytest
from clocks import Clocks

from hw.fixar.config import CODE_WIDTH, FixarConfig
from hw.fixar.numbers.round_and_encode import RoundAndEncode

FORMATS = FixarConfig().arithmetic
DROP = FORMATS.operand.fraction
WIDTH = 53


def clip(value, low, high):
    inside = min(max(value, low), high)
    return inside, inside != value


def rounded(value, places):
    """Half up, by places to the right; by none or more."""
    return (2 * value >> places) + 1 >> 1


def finished(word, mask):
    """``(number, code, clipped numbers, clipped codes)`` of a sum; ``word``: fields of ``i``."""
    target = FORMATS.gradient if word["error"] else FORMATS.activation
    number, clipped = clip(rounded(word["sum"], DROP - word["shift"]), target.low, target.high)
    if word["relu"]:
        number = max(number, 0)
    number *= mask
    low, high = (-(1 << 15), (1 << 15) - 1) if word["code_signed"] else (0, (1 << 16) - 1)
    cut = int(word["code_cut"]).bit_length()
    code = rounded(number, word["code_shift"] + cut) << cut
    code, code_clipped = clip(code, low, high + 1 - (1 << cut))
    return number, code, clipped, word["half"] and code_clipped


def test_reference():
    word = dict(error=1, relu=0, half=1, code_signed=1, shift=0, code_shift=0, code_cut=0)
    assert finished({**word, "sum": (5 << 23) + (1 << 22)}, 1) == (6, 6, False, False)
    assert finished({**word, "sum": (5 << 23) + (1 << 22) - 1}, 1) == (5, 5, False, False)
    assert finished({**word, "sum": -1 << 22}, 1) == (0, 0, False, False)
    assert finished({**word, "sum": -(1 << 22) - 1}, 1)[:2] == (-1, -1)
    assert finished({**word, "sum": 1 << 49}, 1) == ((1 << 26) - 1, 32767, True, True)
    assert finished({**word, "sum": 1 << 49}, 0) == (0, 0, True, False)
    assert finished({**word, "sum": 3 << 20, "shift": 3, "code_shift": 1}, 1)[:2] == (3, 2)
    word.update(error=0, relu=1, code_signed=0)
    assert finished({**word, "sum": -1 << 60}, 1) == (0, 0, True, False)
    assert finished({**word, "sum": 65535 << 23, "shift": 1}, 1) == (131070, 65535, False, True)
    word.update(code_cut=15)  # 12 bits
    assert finished({**word, "sum": 23 << 23}, 1)[:2] == (23, 16)
    assert finished({**word, "sum": 24 << 23}, 1)[:2] == (24, 32)
    assert finished({**word, "sum": 65535 << 23}, 1) == (65535, 65520, False, True)


def sums(rng, shift, code_shift, error, width):
    """A sum that comes close to where something happens, or any."""
    target = FORMATS.gradient if error else FORMATS.activation
    drop, pick = DROP - shift, rng.integers(8)
    if pick == 0:
        number = int(rng.integers(target.low, target.high + 1))
    elif pick == 1:  # about the limits
        number = int(rng.choice([target.low - 1, target.low, target.high, target.high + 1]))
    elif pick == 2:  # where rounding carries far, or comes to nothing
        number = int(rng.choice([-1, 1])) * (1 << int(rng.integers(target.width - 1))) - 1
    elif pick == 3:  # about the limits of codes
        code = int(rng.choice([-32769, -32768, 32767, 65535, 65536]))
        number = (code << code_shift) + int(rng.integers(-2, 3)) * ((1 << code_shift) + 1 >> 1)
        number += int(rng.integers(-1, 2))
    elif pick == 4:
        number = int(rng.integers(-4, 5))
    else:
        bits = int(rng.integers(1, width))
        value = int.from_bytes(rng.bytes(16), "little") >> (128 - bits)
        value = value if rng.random() < 0.7 else (1 << bits) - 1
        return value if rng.random() < 0.5 else -1 - value
    half = 1 << drop - 1
    value = (number << drop) + int(rng.choice([0, -1, half, half - 1, -half, -half - 1]))
    return clip(value, -(1 << width - 1), (1 << width - 1) - 1)[0]


def words(rng, side, count):
    """Fields of ``i``; the mode of each word is its own."""
    for _ in range(count):
        pair, error = int(rng.random() < 0.7), int(rng.random() < 0.4)
        largest = (FORMATS.gradient if error else FORMATS.activation).width - CODE_WIDTH
        shifts = np.array([0, 1, largest - 1, largest, rng.integers(largest + 1)])
        half = pair
        relu = int(not error and rng.random() < 0.6)
        word = dict(
            valid=int(rng.random() < 0.9),
            pair=pair,
            shift=int(rng.choice(shifts)) * pair,
            error=error,
            relu=relu,
            half=half,
            code_shift=int(rng.choice(shifts)),
            code_signed=int(error or not relu),
            code_cut=(1 << int(rng.integers(9))) - 1 if rng.random() < 0.7 else 0,
            keep=int(rng.choice([0, 1, 3])) if pair else int(rng.integers(2)),
        )
        width = WIDTH if pair else 2 * WIDTH
        mask = rng.integers(4, size=side) if error else np.full(side, 3)
        values = [
            [sums(rng, word["shift"], word["code_shift"], error, width) for _ in range(1 + pair)]
            for _ in range(side)
        ]
        yield word, mask.tolist(), values


def ports(word, mask, values):
    bits = (1 << WIDTH) - 1
    packed = [
        (lane[0] & bits) | (lane[1] & bits) << WIDTH if word["pair"] else lane[0] for lane in values
    ]
    sign = 1 << 2 * WIDTH - 1
    return dict(word, mask=mask, word=[(x & 2 * sign - 1) for x in packed])


def expected(word, mask, values):
    """``(numbers, cells, clipped)`` of a word."""
    numbers, cells, total = [], [], 0
    for lane, lane_mask in zip(values, mask, strict=True):
        results = [
            finished({**word, "sum": value}, lane_mask >> k & 1) for k, value in enumerate(lane)
        ]
        numbers.append([*(number for number, *_ in results), None][:2])
        cell = sum((code & 0xFFFF) << 16 * k for k, (_, code, *_) in enumerate(results))
        cells.append(cell if word["half"] else results[0][0] & 0xFFFFFFFF)
        kept = word["valid"] * word["keep"]
        total += sum(a + b for k, (*_, a, b) in enumerate(results) if kept >> k & 1)
    return numbers, cells, total


@pytest.mark.parametrize("side, count", [(4, 700), (16, 60)])
def test_finish(simulate, tmp_path, side, count):
    rng = np.random.default_rng(side)
    unit, clocks = RoundAndEncode(side, WIDTH, FORMATS), Clocks()
    seen = dict(clipped=0, codes=0)
    for clock, (word, mask, values) in enumerate(words(rng, side, count)):
        numbers, cells, total = expected(word, mask, values)
        clocks.at(clock, i=ports(word, mask, values))
        clocks.expect(clock + 4, value=dict(valid=word["valid"], number=numbers))
        clocks.expect(clock + 8, cell=dict(valid=word["valid"], word=cells))
        clocks.expect(clock + 9, saturated=total)
        seen["clipped"] += total > 0
        seen["codes"] += word["half"]
    assert seen["clipped"] > count / 10 and seen["codes"] > count / 10
    assert (unit.VALUE_LATENCY, unit.LATENCY, unit.COUNT_LATENCY) == (4, 8, 9)
    clocks.run(simulate, unit, tmp_path)
