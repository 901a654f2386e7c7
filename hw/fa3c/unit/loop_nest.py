"""A nest of loops in hardware: counters, and addresses that move with them, one turn a clock.

The table of passes (``hw.fa3c.plan``) describes what a unit does with a layer. A nest holds the
loops of all passes that its unit can execute, and runs the one that it is told.
"""

from typing import NamedTuple

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.pass_types import BATCH

__all__ = ["LoopNest", "Loops", "of_pass"]

#: Positions, 0 outermost, of the levels with rules of their own: input rows (level 5 of ``plan``),
#: blocks (level 4; the last may have another inner count), and tap rows (level 3).
_ROW_LEVEL, _BLOCK_LEVEL, _TAP_LEVEL = 1, 2, 3


def of_pass(m, number, values, name):
    """Returns a new signal, ``values[number]``. ``values`` has an integer from 0 on or a bool for
    each pass; ``number`` is the signal that names the pass."""
    signal = Signal(range(max(1, *values) + 1), name=name)
    with m.Switch(number):
        for place, value in enumerate(values):
            with m.Case(place):
                m.d.comb += signal.eq(int(value))
    return signal


class Loops(NamedTuple):
    """The loops of one pass in a nest. If there are 7 levels, they are called 6 (outermost) to 0.

    counts : turns of each level, outermost first; BATCH stands for the task's count
    addresses : (strides, base) of each address
    last : turns of the innermost level while level 4 is in its last turn; 0: as many as always
    extra : the innermost level has one turn more while levels 4 and 5 are in their last turns
    taps : (kernel, stride, height) of ``pass_types.Taps``, or None
    rows : (later, wrapped) of each address, if there are taps
    """

    counts: tuple
    addresses: tuple
    last: int = 0
    extra: bool = False
    taps: tuple | None = None
    rows: tuple = ()


class LoopNest(wiring.Component):
    """Gives every turn of the innermost level, in order, with the addresses of that turn.

    An address begins at its base. When a level begins its next turn, the address is its value at
    the beginning of the level's turn before, plus the level's stride. Levels 5 and 3 of a pass with
    taps turn as ``pass_types.Taps`` says.

    Parameters
    ----------
    passes : sequence of Loops
        The passes that ``number`` can name.
    names : names of the addresses
    batch : int
        The largest count of a task.

    Members
    -------
    start : In(1)
        One clock: begin. Not while ``busy``.
    number : In
        Number of the pass in ``passes``; steady from ``start`` on.
    batch : In
        Turns of the levels whose count is BATCH, at least 1; steady from ``start`` on.
    o : Out(stream of {<address>, first, last, index})
        The addresses; ``first`` and ``last``: a bit for each level, outermost at bit 0: it is in
        its first turn, in its last turn; ``index``: the number of the turn of each level, from 0.
    busy : Out(1)
        Turns are left.
    """

    INTERVAL = 1
    LATENCY = 1

    def __init__(self, passes, names, batch):
        self.passes, self.names, self.most = tuple(passes), tuple(names), batch
        self.levels = len(self.passes[0].counts)
        widths = [
            range(max(max(p.counts[level], p.last) + 2 for p in self.passes) + batch)
            for level in range(self.levels)
        ]
        self.counts = [Shape.cast(width) for width in widths]
        self.spans = [self._span(place) for place in range(len(self.names))]
        self.turn = data.StructLayout(
            {
                **dict(zip(self.names, self.spans, strict=True)),
                "first": self.levels,
                "last": self.levels,
                "index": data.StructLayout(
                    {f"level_{n}": shape for n, shape in enumerate(self.counts)}
                ),
            }
        )
        super().__init__(
            {
                "start": In(1),
                "number": In(range(max(2, len(self.passes)))),
                "batch": In(range(batch + 1)),
                "o": Out(stream.Signature(self.turn)),
                "busy": Out(1),
            }
        )

    @property
    def control(self):
        """``{name: member}`` of the members that begin a nest, and of ``busy``. A unit that is
        given to the method ``runs`` has the same members."""
        members = self.signature.members
        return {name: members[name] for name in ("start", "number", "batch", "busy")}

    def runs(self, m, unit):
        """Adds the nest to the module ``m`` of ``unit``, and connects ``start``, ``number``,
        ``batch`` and ``busy`` of both."""
        m.submodules.nest = self
        m.d.comb += [
            self.start.eq(unit.start),
            self.number.eq(unit.number),
            self.batch.eq(unit.batch),
            unit.busy.eq(self.busy),
        ]

    def _span(self, place):
        """Shape of an address: it holds the largest address of any pass."""
        far = 1
        for loops in self.passes:
            strides, base = loops.addresses[place]
            turns = [(count or self.most) + loops.extra for count in loops.counts]
            end = base + sum(n * max(0, s) for n, s in zip(turns, strides, strict=True))
            if loops.taps:
                kernel, _, height = loops.taps
                later, wrapped = loops.rows[place]
                end += kernel * max(0, later) + height * max(0, wrapped)
            far = max(far, end)
        return Shape.cast(range(far + 1))

    def elaborate(self, platform):
        m = Module()
        index = [Signal(shape, name=f"index_{n}") for n, shape in enumerate(self.counts)]
        limit = [Signal(shape, name=f"limit_{n}") for n, shape in enumerate(self.counts)]
        # For each level: it is in its first turn, it is in its last turn, it begins its next turn.
        first, last, turning = (
            [Signal(name=f"{name}_{n}") for n in range(self.levels)]
            for name in ("first", "last", "turning")
        )
        tap_last, later = Signal(), Signal()
        advance = Signal()
        m.d.comb += [
            advance.eq(self.o.valid & self.o.ready),
            self.busy.eq(self.o.valid),
            self.o.p.first.eq(Cat(first)),
            self.o.p.last.eq(Cat(last)),
            *(getattr(self.o.p.index, f"level_{n}").eq(i) for n, i in enumerate(index)),
            *(first[n].eq(i == 0) for n, i in enumerate(index)),
        ]
        with m.If(self.start):
            m.d.sync += self.o.valid.eq(1)
        with m.Elif(advance & Cat(last).all()):
            m.d.sync += self.o.valid.eq(0)
        for level in range(self.levels):
            inner = Cat(last[level + 1 :]).all()
            m.d.comb += turning[level].eq(~last[level] & inner)
            with m.If(self.start | (advance & Cat(turning[:level]).any())):
                m.d.sync += index[level].eq(0)
            with m.Elif(advance & turning[level]):
                m.d.sync += index[level].eq(index[level] + 1)
        with m.Switch(self.number):
            for number, loops in enumerate(self.passes):
                with m.Case(number):
                    self._limits(m, loops, index, limit, last, tap_last)
        self._taps(m, turning, advance, tap_last, later)
        for place, name in enumerate(self.names):
            self._address(m, place, name, turning, advance, later)
        return m

    def _limits(self, m, loops, index, limit, last, tap_last):
        """Limits the turns of each level in one pass."""
        for level, count in enumerate(loops.counts):
            m.d.comb += limit[level].eq(count - 1 if count != BATCH else self.batch - 1)
            m.d.comb += last[level].eq(index[level] == limit[level])
        if loops.last:
            with m.If(last[_BLOCK_LEVEL]):
                m.d.comb += limit[-1].eq(loops.last - 1)
        if loops.extra:
            with m.If(last[_BLOCK_LEVEL] & last[_ROW_LEVEL]):
                m.d.comb += limit[-1].eq(loops.last or loops.counts[-1])
        if loops.taps:
            m.d.comb += last[_TAP_LEVEL].eq(tap_last)

    def _taps(self, m, turning, advance, tap_last, later):
        """Error row and tap row of the first pair of an input row, and of this turn."""
        if not any(p.taps for p in self.passes):
            return
        kernels, strides, heights = zip(*(p.taps or (0, 0, 1) for p in self.passes), strict=True)
        most = max(map(sum, zip(kernels, heights, strict=True))) + 16
        first_y, first_ky, y, ky = (
            Signal(range(most), name=name) for name in ("first_y", "first_ky", "y", "ky")
        )
        kernel = of_pass(m, self.number, kernels, "kernel")
        stride = of_pass(m, self.number, strides, "stride")
        bottom = of_pass(m, self.number, [height - 1 for height in heights], "bottom")
        next_y, next_ky = Signal.like(y), Signal.like(ky)
        m.d.comb += [
            tap_last.eq((ky + stride >= kernel) | (y == 0)),
            later.eq((first_ky + 1 < stride) | (first_y == bottom)),
            next_y.eq(Mux(later, first_y, first_y + 1)),
            next_ky.eq(Mux(later, first_ky + 1, 0)),
        ]
        with m.If(self.start | (advance & Cat(turning[:_ROW_LEVEL]).any())):
            m.d.sync += [signal.eq(0) for signal in (first_y, first_ky, y, ky)]
        with m.Elif(advance & turning[_ROW_LEVEL]):
            m.d.sync += [first_y.eq(next_y), first_ky.eq(next_ky), y.eq(next_y), ky.eq(next_ky)]
        with m.Elif(advance & Cat(turning[_ROW_LEVEL + 1 : _TAP_LEVEL]).any()):
            m.d.sync += [y.eq(first_y), ky.eq(first_ky)]
        with m.Elif(advance & turning[_TAP_LEVEL]):
            m.d.sync += [y.eq(y - 1), ky.eq(ky + stride)]

    def _address(self, m, place, name, turning, advance, later):
        """The address at which the turn of each level began; the innermost is the address."""
        shape = self.spans[place]
        begun = [
            Signal(shape, name=f"{name}_{level}", reset_less=True) for level in range(self.levels)
        ]
        base, moved = Signal(shape, name=f"{name}_base"), Signal(shape, name=f"{name}_moved")
        stride = Signal(signed(shape.width + 1), name=f"{name}_stride")
        before = Signal(shape, name=f"{name}_before")
        m.d.comb += [getattr(self.o.p, name).eq(begun[-1]), moved.eq(before + stride)]
        for level in range(self.levels):
            with m.If(turning[level]):
                m.d.comb += before.eq(begun[level])
        with m.Switch(self.number):
            for number, loops in enumerate(self.passes):
                strides, start = loops.addresses[place]
                with m.Case(number):
                    m.d.comb += base.eq(start)
                    for level in range(self.levels):
                        with m.If(turning[level]):
                            if loops.taps and level == _ROW_LEVEL:
                                m.d.comb += stride.eq(Mux(later, *loops.rows[place]))
                            else:
                                m.d.comb += stride.eq(strides[level])
        for level in range(self.levels):
            with m.If(self.start):
                m.d.sync += begun[level].eq(base)
            with m.Elif(advance & Cat(turning[: level + 1]).any()):
                m.d.sync += begun[level].eq(moved)
