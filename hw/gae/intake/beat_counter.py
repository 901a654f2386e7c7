"""What each beat of a command holds: the order of planes and slots, a beat a clock."""

from amaranth import *
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from hw.gae.commands import Opcode

__all__ = ["BeatCounter", "Plane", "beat_layout", "of_beat"]


class Plane(enum.Enum, shape=2):
    """The parts of a slot in memory, in their order."""

    KINDS = 0
    REWARDS = 1
    VALUES = 2


def beat_layout(rows):
    """What a beat holds. ``plane``: the part of the slot that the beat belongs to. ``row``: the row
    of the beat's first element. ``ends_slot``: it is the last beat of the slot. ``last``: it is the
    last beat of the command."""
    return data.StructLayout({"plane": Plane, "row": range(rows), "ends_slot": 1, "last": 1})


def of_beat(values, row, count):
    """``values[row]`` to ``values[row + count - 1]``; 0 past the last value.

    ``count`` is a power of two, ``row`` one of its multiples.
    """
    width = len(values[0])
    positions = -(-len(values) // count)
    padding = C(0, (positions * count - len(values)) * width)
    every = Cat(*values, padding)
    position = row[count.bit_length() - 1 :]
    part = every if positions == 1 else every.word_select(position, count * width)
    return [part[k * width : (k + 1) * width] for k in range(count)]


class BeatCounter(wiring.Component):
    """Says what each beat of a command holds: slot by slot the kinds, the rewards, the values, each
    row by row. Each plane begins on a new beat.

    Parameters
    ----------
    config : GaeKernelConfig

    Members
    -------
    start : In(1), opcode : In(Opcode), count : In(32)
        ``start`` is a pulse: ``count`` slots follow, at least one. ``opcode`` is steady.
    step : In(1)
        The beat that ``o`` describes is taken in this clock.
    active : Out(1)
        ``o`` is valid, because beats of the command are still to come.
    o : Out(beat_layout(rows))
        The next beat.
    base : Out(32)
        ``rows`` times the number of the slot of the next beat, from 0.
    """

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "start": In(1),
                "opcode": In(Opcode),
                "count": In(32),
                "step": In(1),
                "active": Out(1),
                "o": Out(beat_layout(config.gae.rows)),
                "base": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        rows, beat_bytes = self.config.gae.rows, self.config.engine.beat_bytes
        plane, row = Signal(Plane), Signal(range(rows))
        left = Signal(32, reset_less=True)
        base = Signal(32, reset_less=True)
        elements = Signal(range(beat_bytes + 1))
        following = Signal(range(rows + beat_bytes))
        ends_plane = Signal()
        with m.If(plane == Plane.KINDS):
            m.d.comb += elements.eq(beat_bytes)
        with m.Elif(self.opcode == Opcode.PUSH_CODES):
            m.d.comb += elements.eq(8 * beat_bytes // self.config.gae.code_width)
        with m.Else():
            m.d.comb += elements.eq(beat_bytes // 4)
        m.d.comb += [
            following.eq(row + elements),
            ends_plane.eq(following >= rows),
            self.o.plane.eq(plane),
            self.o.row.eq(row),
            self.o.ends_slot.eq(ends_plane & (plane == Plane.VALUES)),
            self.o.last.eq(self.o.ends_slot & (left == 1)),
            self.base.eq(base),
        ]
        with m.If(self.step):
            m.d.sync += row.eq(following)
            with m.If(ends_plane):
                m.d.sync += row.eq(0)
                with m.Switch(plane):
                    with m.Case(Plane.KINDS):
                        m.d.sync += plane.eq(Plane.REWARDS)
                    with m.Case(Plane.REWARDS):
                        m.d.sync += plane.eq(Plane.VALUES)
                    with m.Default():
                        m.d.sync += [
                            plane.eq(Plane.KINDS),
                            left.eq(left - 1),
                            base.eq(base + rows),
                            self.active.eq(left != 1),
                        ]
        with m.If(self.start):
            m.d.sync += [self.active.eq(1), left.eq(self.count), base.eq(0)]
        return m
