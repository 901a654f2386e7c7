"""hw.arith.adder_tree against its twin, and the twin against Python's sums."""

import numpy as np
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from arith.adder_tree_twin import accumulate, adder_tree
from arith.adder_tree_twin import interleaved_sum as twin
from clocks import Clocks

from hw.arith.adder_tree import interleaved_sum, interleaved_sum_latency
from hw.arith.arithmetic import Arithmetic

COUNTS = (1, 2, 3, 5, 8)
WIDTH, SUM_WIDTH = 12, 15


class WindowTop(wiring.Component):
    """Windows of every count in ``COUNTS``, side by side on one input."""

    def __init__(self, arithmetic, stride):
        self.arithmetic, self.stride = arithmetic, stride
        width = WIDTH if arithmetic.saturates else 32
        ports = {f"o_{count}": Out(max(width, SUM_WIDTH)) for count in COUNTS}
        positions = {f"position_{count}": In(4) for count in COUNTS}
        super().__init__({"value": In(width), **positions, **ports})

    def elaborate(self, platform):
        m = Module()
        value = self.value.as_signed() if self.arithmetic.saturates else self.value
        m.d.sync += Signal().eq(0)  # a clock, also where no window has a register
        for count in COUNTS:
            total, latency = interleaved_sum(
                m,
                self.arithmetic,
                value,
                getattr(self, f"position_{count}"),
                count,
                self.stride,
                name=f"window_{count}",
                shape=signed(SUM_WIDTH) if count > 4 else None,
            )
            assert latency == interleaved_sum_latency(self.arithmetic, count)
            m.d.comb += getattr(self, f"o_{count}").eq(total)
        return m


def numbers(arithmetic, count, rng):
    if not arithmetic.saturates:
        corners = np.array([-0.0, 0.0, 1e-39, np.inf, np.nan, 3e38], np.float32)
        values = rng.standard_normal(count).astype(np.float32)
        return np.where(rng.random(count) < 0.2, rng.choice(corners, count), values)
    limits = [-(1 << (WIDTH - 1)), (1 << (WIDTH - 1)) - 1]
    values = rng.integers(*limits, count)
    return np.where(rng.random(count) < 0.3, rng.choice(limits, count), values)


@pytest.mark.parametrize("stride", [1, 3])
@pytest.mark.parametrize("kind", ["float32", "fixed"])
def test_sums(simulate, tmp_path, kind, stride):
    """Windows of all counts over one sequence, back to back or with anything between them."""
    arithmetic, rng, clocks = Arithmetic(kind=kind), np.random.default_rng(stride), Clocks()
    length = 260 * stride
    values = numbers(arithmetic, length, rng)
    values[: 20 * stride] = -(1 << (WIDTH - 1)) if arithmetic.saturates else -0.0
    raw = values % (1 << WIDTH) if arithmetic.saturates else values.view(np.uint32)
    positions = {count: rng.integers(0, 16, length) for count in COUNTS}
    checked = dict.fromkeys(COUNTS, 0)
    for count in COUNTS:
        latency, at = interleaved_sum_latency(arithmetic, count), 0
        while at + count * stride <= length:
            window = slice(at, at + count * stride)
            positions[count][window] = np.repeat(np.arange(count), stride)
            sums = twin(arithmetic, values[window].reshape(count, stride))
            for k, total in enumerate(sums):
                bits = total if arithmetic.saturates else total.view(np.uint32)
                width = SUM_WIDTH if arithmetic.saturates else 32
                clock = at + (count - 1) * stride + k + latency
                clocks.expect(clock, **{f"o_{count}": int(bits) % (1 << width)})
                checked[count] += 1
            at += count * stride + rng.choice([0, 0, 1, 5])
    assert min(checked.values()) > 10
    for k in range(length):
        clocks.add(value=raw[k], **{f"position_{c}": positions[c][k] for c in COUNTS})
    clocks.run(simulate, WindowTop(arithmetic, stride), tmp_path)


def test_twin_of_stated_orders():
    """Float sums where each order of additions gives another result."""
    arithmetic = Arithmetic()
    big, one = np.float32(2**24), np.float32(1)
    # ((big + 1) + (1 + 1)) = big + 2; from left to right it would be big.
    assert adder_tree(arithmetic, np.array([big, one, one, one])) == big + 2
    # Padded in front: (0 + 1) + (1 + big), and (0 + big) + (1 + 1).
    assert twin(arithmetic, np.array([one, one, big])) == big
    assert twin(arithmetic, np.array([big, one, one])) == big + 2
    # Sum 0: big + 1 + 1 from left to right; sum 1: 1 + 1 + 1.
    partial = accumulate(arithmetic, np.array([big, one, one, one, one, one]), 2)
    assert partial.tolist() == [2**24, 3]


def test_twin_keeps_minus_zero():
    zeros = np.full(5, -0.0, np.float32)
    for total in (twin(Arithmetic(), zeros), accumulate(Arithmetic(), zeros, 1)[0]):
        assert np.signbit(total)


@pytest.mark.parametrize("count", range(1, 20))
def test_twin_of_exact_sums(count):
    """Integers add up exactly in either arithmetic, whatever the order."""
    values = np.random.default_rng(count).integers(-(2**15), 2**15, (count, 3))
    expected = values.sum(axis=0)
    assert (twin(Arithmetic(kind="fixed"), values) == expected).all()
    assert (twin(Arithmetic(), values.astype(np.float32)) == expected).all()
