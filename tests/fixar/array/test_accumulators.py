"""hw.fixar.array.accumulators: sums in psum, to the last bit, in all modes, at every pace."""

import itertools

import numpy as np
import pytest
from clocks import Clocks, run_together

from hw.fixar.array.accumulators import Accumulators, Mode
from hw.fixar.estimate import accumulators

FULL, PAIR, SUM = Mode.FULL, Mode.PAIR, Mode.SUM
#: Limits of c0 and c1, and of begin.
SUMS, BEGIN = 1 << 47, 1 << 46


class Timeline:
    """Clocks of ``Accumulators``, and what must leave it; psum is of Python's integers."""

    def __init__(self, side, *, depth, width=53, seed=1, corners=0.3):
        self.side, self.width, self.corners = side, width, corners
        self.unit = Accumulators(side, depth=depth, width=width)
        self.depth = depth
        self.rng, self.clocks = np.random.default_rng(seed), Clocks()
        self.psum, self.now, self.left = {}, 0, []

    def numbers(self, limit, *shape):
        """Between -limit and limit: also where a lower part of 16 bits carries."""
        low = [-limit, limit - 1, -1, 0, 1, 0xFFFF, 0x10000, -0x10000, -0x10001]
        corners = self.rng.choice(low, shape)
        drawn = self.rng.integers(-limit, limit, shape)
        return np.where(self.rng.random(shape) < self.corners, corners, drawn)

    def word(self, index, first, last, mode, sums=None, begin=None):
        """In the next clock; ``sums``: [side, 2], ``begin``: [side]."""
        self._clock(1, index, first, last, mode, sums, begin)
        sums, begin = self.clocks.inputs[self.now - 1]["sums"], self.begin
        for c in range(self.side):
            add = self._combined(mode, sums[c]["c0"], sums[c]["c1"])
            start = self._numbers(mode, begin[c], begin[c]) if first else self.psum[index][c]
            total = self._added(mode, start, add)
            if last:
                self.left[-1].append(total)
            else:
                self.psum.setdefault(index, [0] * self.side)[c] = total

    def idle(self, clocks=1):
        """No word, with all the control of one."""
        for _ in range(clocks):
            flags = (int(self.rng.integers(n)) for n in (self.depth, 2, 2))
            self._clock(0, *flags, self.rng.choice(list(Mode)), None, None)

    def _clock(self, valid, index, first, last, mode, sums, begin):
        if sums is None:
            sums = self.numbers(SUMS, self.side, 2)
        self.begin = [int(b) for b in self.numbers(BEGIN, self.side)] if begin is None else begin
        control = dict(valid=valid, index=index, first=first, last=last, mode=mode.value)
        sums = [dict(c0=int(c0), c1=int(c1)) for c0, c1 in sums]
        self.clocks.at(self.now, control=control, sums=sums)
        self.clocks.at(self.now + Accumulators.BEGIN_DELAY, begin=self.begin)
        out = dict(valid=valid and last)
        if valid and last:
            self.left.append([])
            out |= dict(index=index, word=self.left[-1])
        self.clocks.expect(self.now + Accumulators.LATENCY, o=out)
        self.now += 1

    def _numbers(self, mode, low, high):
        """Bits of psum: one number, which is ``low``, or two."""
        if mode is not PAIR:
            return low % (1 << 2 * self.width)
        top = 1 << self.width
        return high % top << self.width | low % top

    def _combined(self, mode, c0, c1):
        one = {FULL: (c1 << 16) + c0, PAIR: c0, SUM: c0 + c1}[mode]
        return self._numbers(mode, one, c1)

    def _added(self, mode, a, b):
        if mode is not PAIR:
            return (a + b) % (1 << 2 * self.width)
        return self._numbers(mode, a + b, (a >> self.width) + (b >> self.width))

    def run(self, simulate, directory):
        self.clocks.run(simulate, self.unit, directory)


def together(simulate, directory, timelines):
    """``Timeline.run`` of each, in one simulation; ``timelines``: name -> Timeline."""
    cases = {name: (each.clocks, each.unit) for name, each in timelines.items()}
    run_together(simulate, directory, cases)


def test_a_layer(simulate, tmp_path):
    """Three tiles of a word an index, all indices in turn, up to the last of psum."""
    sizes = itertools.product(((4, 8), (16, 512)), Mode)
    together(simulate, tmp_path, {str(each): a_layer(*each[0], each[1]) for each in sizes})


def a_layer(side, depth, mode):
    timeline = Timeline(side, depth=depth)
    for tile in range(3):
        for index in (*range(3), *range(depth - 3, depth)):
            timeline.word(index, tile == 0, tile == 2, mode)
    return timeline


def test_corners(simulate, tmp_path):
    """First and last at once, one word a clock: all limits of c0, c1 and begin."""
    timelines = {mode: Timeline(1, depth=2) for mode in Mode}
    corners = [
        (-SUMS, SUMS - 1, -1, 0, 0xFFFF, -0x10000),
        (-SUMS, SUMS - 1, -1, 0, 1),
        (-BEGIN, BEGIN - 1, -1, 0, 0xFFFF),
    ]
    for mode, timeline in timelines.items():
        for c0, c1, begin in itertools.product(*corners):
            timeline.word(0, 1, 1, mode, [(c0, c1)], [begin])
    together(simulate, tmp_path, timelines)


def test_a_pair_has_no_carry(simulate, tmp_path):
    """What overflows below does not come up: of both signs; one number carries."""
    timeline = Timeline(1, depth=4)
    for index, mode in enumerate((PAIR, PAIR, FULL, SUM)):
        c0 = 1 if index else -1
        timeline.word(index, 1, 0, mode, [(c0, 0)], [0])
    for index, mode in enumerate((PAIR, PAIR, FULL, SUM)):
        c0 = -1 if index else 1
        timeline.word(index, 0, 1, mode, [(c0, 0)])
    timeline.run(simulate, tmp_path)
    pair_below, pair_above, *_ = timeline.left
    assert pair_below == pair_above == [0]


def test_sums_of_full_size(simulate, tmp_path):
    """As many of the largest as 53 bits hold: no bit is lost, below or above."""
    timeline = Timeline(1, depth=4)
    for count in range(32):
        for index, sign in enumerate((1, -1)):
            number = SUMS - 1 if sign > 0 else -SUMS
            timeline.word(index, count == 0, count == 31, PAIR, [(number, number)], [0])
        timeline.word(2, count == 0, count == 31, FULL, [(SUMS - 1, SUMS - 1)], [0])
        timeline.word(3, count == 0, count == 31, FULL, [(-SUMS, -SUMS)], [0])
    timeline.run(simulate, tmp_path)
    assert timeline.left[3] == [(-32 * (SUMS + (SUMS << 16))) % (1 << 106)]


def test_random(simulate, tmp_path):
    """Any index as soon as it may come back, often at once; any mode; words that are none."""
    assert Accumulators.RETURN == 3
    together(simulate, tmp_path, {width: drawn(width) for width in (49, 53, 64)})


def drawn(width):
    timeline = Timeline(2, depth=5, width=width, seed=width)
    rng, used, returned = timeline.rng, {}, 0
    for _ in range(300):
        ready = [
            index for index in range(5) if timeline.now - used.get(index, -9) >= Accumulators.RETURN
        ]
        if rng.random() < 0.2:
            timeline.idle()
            continue
        at_once = [
            index for index in ready if timeline.now - used.get(index, -9) == Accumulators.RETURN
        ]
        index = int(rng.choice(at_once or ready))
        first = index not in timeline.psum or rng.random() < 0.2
        returned += index in at_once and not first
        used[index] = timeline.now
        timeline.word(index, int(first), int(rng.random() < 0.3), rng.choice(list(Mode)))
    assert returned > 50
    return timeline


@pytest.mark.parametrize(
    "values, message",
    [
        (dict(side=17, depth=4), r"side must be an integer in 1\.\.16, not 17"),
        (dict(side=4, depth=0), r"depth must be an integer in 1\.\.65536, not 0"),
        (dict(side=4, depth=4, width=48), r"width must be an integer in 49\.\.64, not 48"),
    ],
)
def test_rejects(values, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        Accumulators(**values)


def test_blocks():
    """Words of 1696 bits: 48 halves of 36 bits are 512 of them, 95 of 18 bits are 1024."""
    found = accumulators(16, depth=512)
    assert (found.dsp, found.bram36) == (0, 24)
    assert accumulators(16, depth=1024).bram36 == 47.5


def test_a_shallow_memory_is_of_lookup_tables():
    """Eight hold 7 bits of 64 words; its word is in registers."""
    shallow, deep = accumulators(4, depth=64), accumulators(4, depth=512)
    assert (shallow.bram36, shallow.ff - deep.ff) == (0, 424)
    assert shallow.lut - deep.lut == -(-424 // 7) * 8
