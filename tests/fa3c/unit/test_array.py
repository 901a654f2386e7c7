"""hw.fa3c.unit.array: what its PEs make of steps, and how soon a slot may come back."""

import numpy as np
import pytest
from clocks import Clocks
from fa3c.numbers import as_int, numbers

from hw.fa3c.config import SLOTS, Fa3cConfig
from hw.fa3c.estimate import pe_array
from hw.fa3c.plan import RETURN
from hw.fa3c.rows import ROW
from hw.fa3c.unit.array import PeArray
from hw.fa3c.unit.pe import PE
from hw.verilog import to_verilog
from sim.model.arith import float32

#: Worked by hand: a register, product, sum; and read, sum, written for the read after it.
LATENCY = 1 + 5 + 6
MINUS_ZERO = np.float32(-0.0)
_LONG = pytest.mark.long


class Timeline:
    """Inputs of a ``PeArray`` for each clock, and the outputs that each clock must show."""

    def __init__(self, lanes, seed, corners=0.1, layout="tlu"):
        self.lanes, self.corners, self.layout = lanes, corners, layout
        self.rng, self.clocks = np.random.default_rng(seed), Clocks()
        self.following, self.held, self.sums = {}, {}, {}
        self.used = {}

    def numbers(self, *shape):
        return numbers(shape, self.rng, self.corners)

    def clock(self, load=0, swap=0, step=None, column=None):
        """``step`` is ``(slot, first, last, half)``; whatever has no effect is random. ``column``:
        ``(column, chunk)``, the row has words for that PE of each lane that loads."""
        rng = self.rng
        row, words = self.numbers(ROW), self.numbers(self.lanes)
        slot, first, last, half = step or (int(rng.integers(SLOTS)), *rng.integers(0, 2, 3))
        columns = {}
        if self.layout == "alt1":
            others = rng.integers(ROW), rng.integers(ROW // self.lanes)
            place, chunk = map(int, column or others)
            columns = dict(columns=column is not None, column=place, chunk=chunk)
        now = self.clocks.add(
            **columns,
            row=as_int(row),
            load=load,
            swap=swap,
            words=words,
            slot=slot,
            first=first,
            last=last,
            half=half,
            valid=step is not None,
        )
        if swap:
            self.held = dict(self.following)
        for lane in range(self.lanes):
            if load >> lane & 1:
                self.following[lane] = row if column is None else self.following[lane].copy()
                if column:
                    self.following[lane][place] = row[chunk * self.lanes + lane]
        outputs = dict(done=0)
        if step:
            assert now - self.used.get(slot, -RETURN) >= RETURN or first
            self.used[slot] = now
            held = np.stack([self.held[lane] for lane in range(self.lanes)])
            before = MINUS_ZERO if first else self.sums[slot]
            product = float32.multiply(held, words[:, None])
            self.sums[slot] = total = float32.add(before, product)
            if last:
                outputs = dict(done=1, place=half * SLOTS + slot, sums=as_int(total))
        self.clocks.expect(now + LATENCY, **outputs)
        return now

    def begin(self):
        """Rows for all lanes, which hold them from the next clock on."""
        self.clock(load=(1 << self.lanes) - 1)
        self.clock(swap=1)

    def run(self, simulate, directory):
        config = Fa3cConfig(lanes=self.lanes, layout=self.layout)
        self.clocks.run(simulate, PeArray(config), directory)


@pytest.mark.parametrize("lanes", [pytest.param(1, marks=_LONG), 2, pytest.param(4, marks=_LONG)])
def test_steps(simulate, tmp_path, lanes):
    """Any slot whose sum is there, often at once; loads and swaps in any clock."""
    timeline = Timeline(lanes, lanes)
    timeline.begin()
    rng, returned = timeline.rng, 0
    for now in range(2, 200):
        ready = [slot for slot, used in timeline.used.items() if now - used >= RETURN]
        at_once = [slot for slot in ready if now - timeline.used[slot] == RETURN]
        step = None
        if rng.random() < 0.9:
            slot = int(rng.choice(at_once or ready or [0]) if rng.random() < 0.8 else 0)
            if slot not in ready or rng.random() < 0.1:
                slot = int(rng.integers(SLOTS))
            first = int(slot not in ready or rng.random() < 0.1)
            returned += slot in at_once and not first
            # Of a sum that is begun while it is still under way, only the newer one is there.
            step = (slot, first, int(rng.random() < 0.5), int(rng.integers(2)))
        load = int(rng.integers(1 << lanes)) if rng.random() < 0.3 else 0
        timeline.clock(load, int(rng.random() < 0.2), step)
    assert returned > 50
    timeline.run(simulate, tmp_path)


@pytest.mark.parametrize("gap", [0, pytest.param(3, marks=_LONG)])
def test_slots_return_after_8_clocks(simulate, tmp_path, gap):
    """Slot after slot, as soon as each may come back; and with bubbles before they do."""
    assert RETURN == PeArray.RETURN == PE.RETURN == 8
    timeline = Timeline(1, 3, corners=0)
    timeline.begin()
    slots = RETURN - gap
    for turn in range(6):
        for slot in range(slots):
            timeline.clock(step=(slot, turn == 0, turn == 5, turn & 1))
        for _ in range(gap):
            timeline.clock()
    timeline.run(simulate, tmp_path)


def test_held_rows(simulate, tmp_path):
    """Broadcast; lane after lane; a load with a swap comes after it; a swap without a load."""
    timeline = Timeline(4, 4, corners=0)
    timeline.begin()
    step = (0, 1, 1, 0)
    timeline.clock(step=step)
    for lane in range(4):
        timeline.clock(load=1 << lane, step=step)
    timeline.clock(swap=1, step=step)
    timeline.clock(load=0b0101, step=step)
    timeline.clock(load=0b1010, swap=1, step=step)
    timeline.clock(swap=1, step=step)
    timeline.clock(swap=1, load=0b1111, step=step)
    timeline.clock(step=step)
    timeline.run(simulate, tmp_path)


@pytest.mark.parametrize("lanes", [2, *(pytest.param(n, marks=_LONG) for n in (1, 8, 16))])
def test_columns(simulate, tmp_path, lanes):
    """Alt1: 16 rows of a patch, each with a word for one PE of every lane; rows between them."""
    timeline = Timeline(lanes, 7, layout="alt1")
    timeline.begin()
    every, step = (1 << lanes) - 1, (0, 1, 1, 0)
    for chunk in (0, ROW // lanes - 1, ROW // lanes // 2):
        for column in range(ROW):
            timeline.clock(every, column == 0, step, column=(column, chunk))
        timeline.clock(swap=1, step=step)
        timeline.clock(load=1, step=step)
    timeline.clock(swap=1, step=step)
    timeline.run(simulate, tmp_path)


@_LONG
def test_corners(simulate, tmp_path):
    """Corners alone: NaNs, infinities, subnormals, zeros of both signs; sums of few of them."""
    timeline = Timeline(2, 5, corners=0.9)
    timeline.begin()
    for clock in range(160):
        turn = clock // RETURN % 3
        step = (clock % RETURN, turn == 0, 1, 0)
        timeline.clock(load=1 << clock % 2, swap=clock % 2, step=step)
    timeline.run(simulate, tmp_path)


def test_a_first_sum_keeps_the_sign_of_zero(simulate, tmp_path):
    """-0 is what a sum begins with: +0 would make +0 of a product that is -0."""
    timeline = Timeline(1, 6)
    timeline.numbers = lambda *shape: np.full(shape, -0.0 if shape == (ROW,) else 1, np.float32)
    timeline.begin()
    timeline.clock(step=(0, 1, 1, 0))
    assert np.signbit(timeline.sums[0]).all()
    timeline.run(simulate, tmp_path)


@pytest.mark.parametrize("lanes", [4, *(pytest.param(n, marks=_LONG) for n in (1, 8, 16))])
def test_estimate(lanes):
    config = Fa3cConfig(lanes=lanes)
    assert (PeArray.LATENCY, pe_array(config).dsp) == (LATENCY, 32 * lanes)
    assert to_verilog(PeArray(config), name="array").count("rlfabric_pe pe_") == 16 * lanes
