"""hw.fixar.array.array: sums of products to the last bit, and tiles that follow each other."""

import numpy as np
import pytest
from clocks import Clocks

from hw.fixar.array.array import PeArray
from hw.fixar.estimate import pe_array
from hw.verilog import to_verilog

OPERANDS = (-(1 << 26), (1 << 26) - 1)
WORDS = (-(1 << 16), (1 << 16) - 1)
SIDES = [4, 16]
SIDES_LATER = [4, pytest.param(16, marks=pytest.mark.long)]


class Timeline:
    """Clocks of an ``PeArray``, and the sums that its words must have, of Python's integers."""

    def __init__(self, side, seed=1, corners=0.2, band=1):
        self.side, self.corners, self.band = side, corners, band
        self.rng, self.clocks = np.random.default_rng(seed), Clocks()
        self.loads, self.swaps, self.words = {}, [], {}

    def numbers(self, limits, *shape):
        low, high = limits
        corners = self.rng.choice([low, low + 1, -1, 0, 1, high], shape)
        drawn = self.rng.integers(low, high + 1, shape)
        return np.where(self.rng.random(shape) < self.corners, corners, drawn)

    def load(self, clock, row, mask=3, word=None):
        """A row, or the band that begins with it, of one mask and word, or one a row."""
        masks = np.broadcast_to(mask, self.band)
        if word is None:
            word = self.numbers(OPERANDS, self.band, self.side)
        words = np.broadcast_to(word, (self.band, self.side))
        self.loads[clock] = (row, masks, words)

    def tile(self, clock):
        """All rows, a band a clock."""
        for band in range(self.side // self.band):
            self.load(clock + band, band * self.band)

    def word(self, clock, swap=0, word=None):
        """``word``: [side, 2]"""
        self.words[clock] = self.numbers(WORDS, self.side, 2) if word is None else word
        if swap:
            self.swaps.append(clock)

    def _held(self, row, clock):
        """A row's operands [2, side] for the word that is in row 0 at ``clock``."""
        start = max(swap for swap in self.swaps if swap <= clock) + row
        held = [None, None]
        lag = row // self.band * (self.band - 1)
        for when, (first, masks, words) in sorted(self.loads.items()):
            r = row - first
            if 0 <= r < self.band and when + lag < start:
                held = [words[r] if masks[r] >> c & 1 else held[c] for c in range(2)]
        return held

    def run(self, simulate, directory):
        side, band = self.side, self.band
        last = max([*self.loads, *self.words]) + 2 * side
        for clock in range(last):
            # What has no effect is random.
            nothing = self.rng.integers(side), [3] * band, self.numbers(OPERANDS, band, side)
            row, masks, words = self.loads.get(clock, nothing)
            load = dict(valid=clock in self.loads, band=row // band, mask=masks, words=words)
            pairs = self.words.get(clock, self.numbers(WORDS, side, 2))
            swap = clock in self.swaps if clock in self.words else self.rng.integers(2)
            stream = dict(
                valid=clock in self.words, swap=swap, word=[dict(b0=b0, b1=b1) for b0, b1 in pairs]
            )
            self.clocks.at(clock, load=load, stream=stream)
            out = dict(valid=clock in self.words)
            if clock in self.words:
                out["sums"] = self._sums(clock, pairs)
            self.clocks.expect(clock + side + 2, o=out)
        self.clocks.run(simulate, PeArray(side, band), directory)

    def _sums(self, clock, pairs):
        held = [self._held(row, clock) for row in range(self.side)]
        return [
            {
                f"c{chain}": sum(
                    int(held[row][chain][c]) * int(pairs[row][chain]) for row in range(self.side)
                )
                for chain in range(2)
            }
            for c in range(self.side)
        ]


@pytest.mark.parametrize("side", SIDES_LATER)
def test_tiles_without_a_gap(simulate, tmp_path, side):
    """Each tile as soon as it may be loaded, while the one before streams."""
    timeline = Timeline(side)
    timeline.tile(0)
    for tile in range(5):
        first = side + side * tile
        for word in range(side):
            timeline.word(first + word, swap=word == 0)
        if tile < 4:
            timeline.tile(first + 1)
    timeline.run(simulate, tmp_path)


@pytest.mark.parametrize(
    "side, band",
    [(4, 2), *(pytest.param(*case, marks=pytest.mark.long) for case in ((8, 4), (16, 2), (16, 4)))],
)
def test_bands_without_a_gap(simulate, tmp_path, side, band):
    """Each tile as soon as it may be loaded, and taken as soon as its first band is; then single
    rows, taken as soon as the last one will be there in time."""
    timeline = Timeline(side, band=band)
    clock = 0
    for _ in range(6):
        timeline.tile(clock)
        timeline.word(clock + 1, swap=1)
        clock += max(1 + PeArray.again_of(band), side // band)
    for word in range(clock - side // band + 2, clock):
        timeline.words.setdefault(word, timeline.numbers(WORDS, side, 2))
    for row in range(side):
        first = row // band * band
        timeline.load(clock + row, first, [3 * (r == row - first) for r in range(band)])
    lag = PeArray.lag_of(side, band)
    timeline.word(clock + lag + 1, swap=1)
    for row in range(side):
        _, _, words = timeline.loads[clock + row]
        for held in timeline._held(row, clock + lag + 1):
            assert held is words[row % band] or (held == words[row % band]).all()
    timeline.run(simulate, tmp_path)


@pytest.mark.parametrize("side", SIDES_LATER)
def test_loads_at_the_limits(simulate, tmp_path, side):
    """Row k in the clock of the swap and k, the first one; k - 1 after the next swap, the last."""
    timeline = Timeline(side)
    timeline.tile(0)
    for swap, load in ((1, None), (3, side), (5, 5 * side - 1), (6, None), (7, 6 * side)):
        if load is not None:
            timeline.tile(load)
        timeline.word(swap * side, swap=1)
    for clock in range(side, 9 * side):
        if clock not in timeline.words:
            timeline.word(clock)
    timeline.run(simulate, tmp_path)


@pytest.mark.parametrize("side", SIDES_LATER)
def test_each_operand_by_itself(simulate, tmp_path, side):
    """Two clocks a row; a mask of none; one word a tile, and several."""
    timeline = Timeline(side)
    clock = 0
    for words in (1, 3, 1):
        for row in range(side):
            for mask in (1, 2, 0):
                timeline.load(clock, row, mask)
                clock += 1
        for word in range(words):
            timeline.word(clock, swap=word == 0)
            clock += 1
    timeline.run(simulate, tmp_path)


@pytest.mark.parametrize("side", SIDES)
def test_the_largest_sums(simulate, tmp_path, side):
    """All rows at one limit, of each sign."""
    timeline = Timeline(side)
    clock = 0
    for operand in OPERANDS:
        for row in range(side):
            timeline.load(clock, row, word=np.full(side, operand))
            clock += 1
        for k, word in enumerate(WORDS):
            timeline.word(clock, swap=k == 0, word=np.full((side, 2), word))
            clock += 1
    timeline.run(simulate, tmp_path)


@pytest.mark.parametrize("side", [1, 4, 5])
def test_random(simulate, tmp_path, side):
    """Words, swaps and loads of any row in any clock."""
    timeline = Timeline(side, seed=2)
    timeline.tile(0)
    timeline.word(side, swap=1)
    rng = timeline.rng
    for clock in range(side + 1, side + 150):
        if rng.random() < 0.7:
            timeline.load(clock, int(rng.integers(side)), int(rng.integers(4)))
        if rng.random() < 0.7:
            timeline.word(clock, swap=rng.random() < 0.3)
    timeline.run(simulate, tmp_path)


@pytest.mark.parametrize("side", [0, 17])
def test_rejects(side):
    with pytest.raises(ValueError, match=rf"^side must be an integer in 1\.\.16, not {side}$"):
        PeArray(side)


def test_rejects_bands():
    with pytest.raises(ValueError, match="^band must divide side, which is 4, not 3$"):
        PeArray(4, 3)


def test_estimate():
    """A column is written out once."""
    assert (PeArray.latency_of(16), pe_array(16).dsp) == (18, 512)
    text = to_verilog(PeArray(16), name="array")
    assert text.count("module rlfabric_column") == 1 and text.count(" column_") == 16
