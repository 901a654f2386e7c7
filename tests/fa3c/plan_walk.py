"""``hw.fa3c.plan`` taken literally: a unit that walks through the nests step by step, without any
speed.

It knows loops, lines, slots and drains, but no layers: only the table says what a pass computes.
"""

import itertools

import numpy as np

from hw.fa3c.config import LINE_ROWS, SLOTS
from hw.fa3c.pass_types import BATCH, Kind, Source
from hw.fa3c.plan import RETURN
from hw.fa3c.rows import ROW
from sim.model.arith.float32 import add, flush, multiply

__all__ = ["Walk"]

ZERO, MINUS_ZERO = np.float32(0), np.float32(-0.0)


def _at(nest, turns):
    return nest.base + sum(turn * stride for turn, stride in zip(turns, nest.strides, strict=False))


class Walk:
    """A compute unit that executes one pass after the other in Python.

    Parameters
    ----------
    config : Fa3cConfig
    theta : float32 [snapshot_rows, 16]
    count : agents or samples of the task

    Attributes
    ----------
    features : list
        Rows of the feature buffer: float32 [16], or uint8 [64] of an observation in bytes.
    gradients : list of float32 [16]
        Rows for the gradient queue.
    """

    def __init__(self, config, theta, count):
        self.config, self.theta, self.count = config, theta, count
        self.features = [None] * config.feature_rows
        self.gradients = []

    def put(self, number, maps):
        """Map ``number`` of each sample: rows."""
        rows = self.config.map_rows[number]
        for sample, each in enumerate(maps):
            begin = self.config.map_bases[number] + sample * rows
            self.features[begin : begin + rows] = list(each)

    def get(self, number):
        """Inverse of ``put``."""
        rows, base = self.config.map_rows[number], self.config.map_bases[number]
        return np.array(self.features[base : base + self.count * rows]).reshape(self.count, -1)

    def execute(self, plan):
        """One pass."""
        self.plan, self.sums, self.clock, self.met = plan, {}, 0, {}
        self.parameters, self.offset = self._parameters(), -1
        counts = self._counts(plan.words)
        for sample in range(counts[0]):
            self.first_tap = (0, 0, 0, 0)
            for row in range(counts[1]):
                for block in range(counts[2]):
                    self._group((sample, row, block), counts)
                self._next_row()

    def _counts(self, nest):
        return [self.count if count is BATCH else count for count in nest.counts]

    def _parameters(self):
        """Rows of the parameter buffer, in the order of the segments."""
        s = self.plan.segments
        if s is None:
            return []
        starts = (
            s.base + a * s.strides[0] + b * s.strides[1]
            for a, b, _ in itertools.product(*map(range, (*s.counts, s.turns)))
        )
        return [self.theta[begin + k] for begin in starts for k in range(s.rows)]

    def _parameter(self, offset):
        if not self.plan.segments.resident:
            assert offset == self.offset + 1, "rows that stream come one after the other"
        self.offset = offset
        return self.parameters[offset]

    # -- taps of BW

    def _next_row(self):
        taps = self.plan.taps
        if taps is None:
            return
        y, tap, fill, rows = self.first_tap
        if tap + 1 < taps.stride or y == taps.height - 1:
            self.first_tap = (y, tap + 1, fill + taps.fill_later, rows + taps.rows_later)
        else:
            self.first_tap = (y + 1, 0, fill + taps.fill_wrapped, rows + taps.rows_wrapped)

    def _tap_turns(self, counts):
        taps = self.plan.taps
        if taps is None:
            return counts[3]
        y, tap, _, _ = self.first_tap
        turns = 0
        while tap < taps.kernel and y >= 0:
            turns, tap, y = turns + 1, tap + taps.stride, y - 1
        return turns

    # -- a group of sums

    def _group(self, outer, counts):
        plan = self.plan
        last_block = outer[2] == counts[2] - 1
        _, _, fill5, rows5 = self.first_tap
        slots = plan.last_slots if last_block and plan.last_slots else counts[6]
        extra = plan.bias and last_block and outer[1] == counts[1] - 1
        for level3, level2 in itertools.product(range(self._tap_turns(counts)), range(counts[4])):
            turns = (*outer, level3, level2)
            if plan.line_level == 2 or level2 == 0:
                self._fill(turns, last_block, fill5)
            held = self._held(turns, rows5)
            for chunk in range(counts[5]):
                self._sweep((*turns, chunk), slots, extra, held)
            assert next(held, None) is None, "rows that no sweep has taken"
        if plan.kind is Kind.GC:
            self._drain_gradients(slots, extra)
        else:
            self._drain(outer)
        self.sums = {}

    def _fill(self, turns, last_block, fill5):
        nest = self.plan.fill
        count = self._counts(nest)[5]
        if last_block and self.plan.last_rows:
            count = self.plan.last_rows
        assert count <= LINE_ROWS
        begin = _at(nest, turns) + fill5
        rows = [self.features[begin + k * nest.strides[5]] for k in range(count)]
        self.line = np.concatenate(rows)
        if self.line.dtype == np.uint8:
            self.line = multiply(self.line, np.float32(2.0**self.config.input_exponent))

    def _held(self, turns, rows5):
        """The rows of a round of level 1, in order: one after the other, each for a lane or all."""
        nest, plan = self.plan.rows, self.plan
        counts = self._counts(nest)
        for level1 in range(counts[5]):
            begin = _at(nest, (*turns, level1)) + rows5
            addresses = [begin + k * nest.strides[-1] for k in range(counts[-1])]
            if plan.source is Source.ERRORS:
                yield from (self.features[address] for address in addresses)
            elif plan.source is Source.PARAMETERS:
                yield from (self._parameter(address) for address in addresses)
            elif plan.source is Source.TRANSPOSED:
                yield from np.array([self._parameter(address) for address in addresses]).T
            else:
                for turn in range(counts[6] if len(counts) == 8 else 1):
                    if not plan.segments.resident:  # the patch has come again
                        addresses = range(self.offset + 1, self.offset + 1 + ROW)
                    patch = np.array([self._parameter(address) for address in addresses])
                    lanes = self.config.lanes
                    yield from patch.T[turn * lanes : (turn + 1) * lanes]

    def _sweep(self, turns, slots, extra, held):
        plan, lanes = self.plan, self.config.lanes
        if plan.source is Source.ERRORS:
            rows = [next(held)] * lanes
        else:
            rows = [next(held) for _ in range(lanes)]
        partial = turns[5] % plan.partials
        for step in range(slots + extra):
            slot = _at(plan.words._replace(strides=plan.slots, base=0), (*turns, step))
            assert slot < SLOTS // plan.partials
            if step == slots:
                words = np.ones(lanes, np.float32)
            else:
                chunk = _at(plan.words, (*turns, step))
                if plan.fold:
                    chunk += step // plan.fold[0] * (plan.fold[1] - plan.fold[0])
                words = self.line[chunk * lanes : (chunk + 1) * lanes]
            self._step((slot, partial), words, rows, self.clock + step)
        self.clock += max(slots + extra, plan.hold)

    def _step(self, place, words, rows, clock):
        assert clock - self.met.get(place, -RETURN) >= RETURN, "the PE has the sum not yet"
        self.met[place] = clock
        before = self.sums.get(place, [MINUS_ZERO] * len(rows))
        self.sums[place] = [
            add(total, multiply(word, row))
            for total, word, row in zip(before, words, rows, strict=True)
        ]

    # -- drains

    def _tree(self, slot):
        values = [v for p in range(self.plan.partials) for v in self.sums[slot, p]]
        while len(values) > 1:
            values = [add(a, b) for a, b in zip(values[0::2], values[1::2], strict=True)]
        return values[0]

    def _drain(self, outer):
        nest, plan = self.plan.drain, self.plan
        bias = self._parameter(self.offset + 1) if plan.kind is Kind.FW else MINUS_ZERO
        for n in range(self._counts(nest)[3]):
            row, out = _at(nest, (*outer, n)), add(self._tree(n), bias)
            if plan.kind is Kind.BW:
                out = np.where(flush(self.features[row]) == 0, ZERO, out)
            elif plan.relu:
                out = np.where(np.signbit(out), ZERO, out)
            self.features[row] = out

    def _drain_gradients(self, slots, extra):
        for slot in range(slots):
            self.gradients += self.sums[slot, 0]
        if extra:
            self.gradients.append(self.sums[slots, 0][0])
