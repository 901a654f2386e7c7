"""The ``lanes`` x 16 PEs of a compute unit, and the control that they share.

Interval 1; ``LATENCY`` clocks from a step to ``done``, one more than in a PE, for a register.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.float32.format import WIDTH
from hw.fa3c.config import SLOTS
from hw.fa3c.rows import ROW, ROW_WIDTH
from hw.fa3c.unit.pe import PE
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["PLACES", "PeArray"]

#: Places for sums behind the array: two halves, each with a place for every slot.
PLACES = 2 * SLOTS


class PeArray(wiring.Component):
    """A step multiplies the row that each lane holds by the word of the lane, and adds to a slot::

        sum[lane][r][slot] = (first ? -0 : sum[lane][r][slot]) + held[lane][r] * words[lane]

    for the 16 words r of a row. Free-running: each clock has a step or none. A step may use
    the slot of an earlier step if it comes at least ``RETURN`` clocks later, whatever steps come
    between. If it comes sooner, its sum is undefined.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    row : In(512)
        A row to load: word r is for PE r of a lane.
    load : In(lanes)
        Bit l: ``row`` becomes the next row of lane l. Any number of lanes may load in one clock.
    columns, column, chunk : In(1), In(4), In
        With the layout "alt1": if ``columns``, ``row`` has the next words of PE ``column`` of all
        lanes instead: lane l takes word ``chunk * lanes + l``.
    swap : In(1)
        Each lane holds its next row from the step of this clock on. A ``load`` in the same clock is
        for the row after that.
    words : In [lanes]
        The word of each lane, for the step of this clock.
    slot : In(5)
        The slot that the step adds to.
    half : In(1)
        The half of the places behind the array to which the sums of the step go, if ``last``.
    first, last : In(1)
        ``first``: the step begins a sum. ``last``: the sums leave after the step; later steps may
        still add to them.
    valid : In(1)
        There is a step in this clock. Without it, ``words``, ``slot``, ``first`` and ``last`` say
        nothing.
    sums : Out(lanes * 512)
        The sums of the step of ``LATENCY`` clocks ago; lane l has the 512 bits from 512 * l.
    place : Out(6)
        half * 32 + slot, of the same step.
    done : Out(1)
        That step had ``last``.
    """

    LATENCY = 1 + PE.LATENCY
    RETURN = PE.RETURN

    def __init__(self, config):
        self.config = config
        lanes = config.lanes
        super().__init__(
            {
                "row": In(ROW_WIDTH),
                "load": In(lanes),
                **self.column_members(config),
                "swap": In(1),
                "words": In(data.ArrayLayout(WIDTH, lanes)),
                "slot": In(range(SLOTS)),
                "half": In(1),
                "first": In(1),
                "last": In(1),
                "valid": In(1),
                "sums": Out(lanes * ROW_WIDTH),
                "place": Out(range(PLACES)),
                "done": Out(1),
            }
        )

    @staticmethod
    def column_members(config):
        """``{name: member}`` of the members that load columns, which only "alt1" has."""
        if config.layout != "alt1":
            return {}
        chunks = ROW // config.lanes
        return {"columns": In(1), "column": In(range(ROW)), "chunk": In(range(max(2, chunks)))}

    def elaborate(self, platform):
        m = Module()
        # Delays are shared: ``write_slot`` is ``read_slot``, delayed further.
        read_slot = delay(m, self.slot, 1 + PE.READ_DELAY, name="slot")
        write_slot = delay(m, read_slot, PE.LATENCY - PE.READ_DELAY, name="read_slot")
        first = delay(m, self.first, 1 + PE.FIRST_DELAY, name="first")
        write = delay(m, self.valid, self.LATENCY, name="valid", reset=True)
        half = delay(m, self.half, self.LATENCY, name="half")
        done = Signal()
        m.d.comb += [
            done.eq(self.valid & self.last),
            self.done.eq(delay(m, done, self.LATENCY, name="done", reset=True)),
            self.place.eq(Cat(write_slot, half)),
        ]
        for lane in range(self.config.lanes):
            word = delay(m, self.words[lane], 1, name=f"word_{lane}")
            for r, (row, load) in enumerate(self._loads(m, lane)):
                m.submodules[f"pe_{lane}_{r}"] = pe = SharedModule(PE)
                m.d.comb += [
                    pe.row.eq(row),
                    pe.load.eq(load),
                    pe.swap.eq(self.swap),
                    pe.word.eq(word),
                    pe.read_slot.eq(read_slot),
                    pe.first.eq(first),
                    pe.write.eq(write),
                    pe.write_slot.eq(write_slot),
                    self.sums.word_select(lane * ROW + r, WIDTH).eq(pe.sum),
                ]
        return m

    def _loads(self, m, lane):
        """For each PE of a lane: its next word, and whether it takes the word."""
        words, load = [self.row.word_select(r, WIDTH) for r in range(ROW)], self.load[lane]
        if self.config.layout != "alt1":
            return [(word, load) for word in words]
        # The word for a PE of this lane.
        m.submodules[f"own_{lane}"] = own = _Choice(len(words) // self.config.lanes)
        m.d.comb += [own.words.eq(Cat(words[lane :: self.config.lanes])), own.place.eq(self.chunk)]
        return [
            (Mux(self.columns, own.word, word), load & (~self.columns | (self.column == r)))
            for r, word in enumerate(words)
        ]


class _Choice(wiring.Component):
    """One of ``count`` words, ``words[place]``. It is a module so that a mapper, which goes module
    by module, makes the choice once, and not at each PE that takes the word.

    words : In, place : In
    word : Out(32)
    """

    def __init__(self, count):
        members = {"words": In(data.ArrayLayout(WIDTH, count)), "place": In(range(max(2, count)))}
        super().__init__({**members, "word": Out(WIDTH)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.word.eq(self.words[self.place])
        return m
