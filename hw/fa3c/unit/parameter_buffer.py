"""Parameters on their way into a compute unit: a ring of rows, filled ahead from card memory.

It takes and gives a row a clock. A row that is in the ring leaves ``LATENCY`` clocks after its
request was taken.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.rows import ROW_BYTES, ROW_WIDTH
from hw.shell.ports import read_port
from hw.stream.ram import Ram, style_of

__all__ = ["OFFSET", "PASS", "SEGMENT", "ParameterBuffer"]

#: Runs of rows. For each a < count_a, for each b < count_b, a run of ``rows`` rows begins at row
#: base + a * stride_a + b * stride_b; with the layout "alt1" it comes ``turns`` times.
SEGMENT = data.StructLayout(
    {
        **{name: 32 for name in ("base", "count_a", "count_b", "stride_a", "stride_b", "rows")},
        "turns": 5,
    }
)
#: A pass. ``total``: rows of all its runs. ``resident``: it reads them in any order, repeatedly.
PASS = data.StructLayout({"total": 32, "resident": 1})
#: Number of a row of a pass, from 0.
OFFSET = unsigned(32)

#: Rows of a request. If base and strides are multiples of 16, a request is one block of a stripe.
_PIECE = 16


class ParameterBuffer(wiring.Component):
    """Holds rows of the running pass, while rows of the next passes arrive.

    Every count of a segment is at least 1. A pass with ``resident`` reads its rows in any order and
    repeatedly: the rows stay until the pass is over, and must fit the ring. A pass without it reads
    each of its rows once, in order; a row that was read is free.

    Parameters
    ----------
    config : Fa3cConfig
        ``parameter_rows`` is the size of the ring.

    Members
    -------
    segments : In(stream of SEGMENT)
        The runs of one pass after the other; their rows are read ahead into free places.
    read : Out(read_port(512))
        Byte addresses: 64 times the row. ``error`` is ignored. Its data never waits.
    passes : In(stream of PASS)
        One for each pass that reads parameters, in the order of the segments; taken when it begins.
    done : In(1)
        One clock: all requests of the running pass have been taken.
    request : In(stream of OFFSET)
        A row of the running pass; the request waits until the row has come. If the pass is not
        resident, rows are given in order from 0 on, whatever ``request`` says.
    data : Out(stream of 512 bits)
        The requested rows.
    """

    LATENCY = 2
    #: Clocks from ``done`` until a request of the next pass is taken.
    TURN = 3

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "segments": In(stream.Signature(SEGMENT)),
                "read": Out(read_port(ROW_WIDTH)),
                "passes": In(stream.Signature(PASS)),
                "done": In(1),
                "request": In(stream.Signature(OFFSET)),
                "data": Out(stream.Signature(unsigned(ROW_WIDTH))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        rows = self.config.parameter_rows
        style = style_of(rows, self.config.ultra_ram)
        m.submodules.ram = ram = Ram(width=ROW_WIDTH, depth=rows, style=style)
        produce = Signal(range(rows))
        there = Signal(range(rows + 1))  # rows that have come and are not free yet
        room = Signal(range(rows + 1), init=rows)  # places for which no row is requested
        asked, freed = Signal(range(_PIECE + 1)), Signal(range(rows + 1))
        beat = self.read.data
        self._ask(m, room, asked)
        self._serve(m, ram, there, freed)
        m.d.comb += [
            beat.ready.eq(1),
            ram.write_enable.eq(beat.valid),
            ram.write_address.eq(produce),
            ram.write_data.eq(beat.p.data),
        ]
        with m.If(beat.valid):
            m.d.sync += produce.eq(self._moved(produce, 1))
        m.d.sync += [
            there.eq(there + beat.valid - freed),
            room.eq(room - asked + freed),
        ]
        return m

    def _moved(self, pointer, by):
        """The place ``by`` rows after ``pointer``; ``by`` is at most the whole ring."""
        rows = self.config.parameter_rows
        further = pointer + by
        return Mux(further >= rows, further - rows, further)[: len(pointer)]

    def _ask(self, m, room, asked):
        """Requests for the segments, 16 rows or fewer a clock, while places are free."""
        segment = Signal(SEGMENT, reset_less=True)
        active = Signal()
        row, run, turn = (Signal(32, reset_less=True) for _ in range(3))
        left, left_a, left_b = (Signal(32, reset_less=True) for _ in range(3))
        next_run, next_turn = Signal(32), Signal(32)
        beats = Signal(range(_PIECE + 1))
        ends_run, issue, again = Signal(), Signal(), Signal()
        request = self.read.request
        m.d.comb += [
            ends_run.eq(left <= _PIECE),
            beats.eq(Mux(ends_run, left, _PIECE)),
            request.valid.eq(active & (room >= beats)),
            request.p.address.eq(row * ROW_BYTES),
            request.p.beats.eq(beats),
            issue.eq(request.valid & request.ready),
            asked.eq(Mux(issue, beats, 0)),
            next_run.eq(run + segment.stride_b),
            next_turn.eq(turn + segment.stride_a),
            self.segments.ready.eq(~active),
        ]
        if self.config.layout == "alt1":
            left_turns = Signal.like(segment.turns, reset_less=True)
            m.d.comb += again.eq(left_turns != 1)
            with m.If(issue & ends_run):
                m.d.sync += left_turns.eq(Mux(again, left_turns - 1, segment.turns))
            with m.If(self.segments.valid & self.segments.ready):
                m.d.sync += left_turns.eq(self.segments.p.turns)
        with m.If(issue):
            m.d.sync += [row.eq(row + _PIECE), left.eq(left - _PIECE)]
            with m.If(ends_run & again):
                m.d.sync += [left.eq(segment.rows), row.eq(run)]
            with m.Elif(ends_run):
                m.d.sync += [left.eq(segment.rows), left_b.eq(left_b - 1)]
                m.d.sync += [row.eq(next_run), run.eq(next_run)]
                with m.If(left_b == 1):
                    m.d.sync += [left_b.eq(segment.count_b), left_a.eq(left_a - 1)]
                    m.d.sync += [row.eq(next_turn), run.eq(next_turn), turn.eq(next_turn)]
                    m.d.sync += active.eq(left_a != 1)
        with m.If(self.segments.valid & self.segments.ready):
            new = self.segments.p
            m.d.sync += [segment.eq(new), active.eq(1)]
            m.d.sync += [row.eq(new.base), run.eq(new.base), turn.eq(new.base)]
            m.d.sync += [left.eq(new.rows), left_a.eq(new.count_a), left_b.eq(new.count_b)]

    def _serve(self, m, ram, there, freed):
        """Gives rows of the running pass, and frees their places after use."""
        head = Signal.like(
            ram.read_address
        )  # place of row 0 of a resident pass, or of the next row to read
        resident = Signal()
        size = Signal.like(there)  # rows that become free at the end of the pass
        s1_valid, taken, fetch = Signal(), Signal(), Signal()
        s1_address = Signal.like(head, reset_less=True)
        s1_before = Signal.like(head, reset_less=True)  # rows of the pass that are in front of it
        offset = Signal.like(head)
        m.d.comb += [
            offset.eq(Mux(resident, self.request.payload, 0)),
            taken.eq(self.request.valid & self.request.ready),
            fetch.eq(s1_valid & (there > s1_before) & (~self.data.valid | self.data.ready)),
            ram.read_enable.eq(fetch),
            ram.read_address.eq(s1_address),
            self.data.payload.eq(ram.read_data),
            freed.eq(fetch & ~resident),
        ]
        with m.If(taken):
            m.d.sync += [
                s1_valid.eq(1),
                s1_address.eq(self._moved(head, offset)),
                s1_before.eq(offset),
            ]
            with m.If(~resident):
                m.d.sync += head.eq(self._moved(head, 1))
        with m.Elif(fetch):
            m.d.sync += s1_valid.eq(0)
        with m.If(fetch):
            m.d.sync += self.data.valid.eq(1)
        with m.Elif(self.data.ready):
            m.d.sync += self.data.valid.eq(0)

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.passes.ready.eq(1)
                m.d.sync += [
                    resident.eq(self.passes.p.resident),
                    size.eq(Mux(self.passes.p.resident, self.passes.p.total, 0)),
                ]
                with m.If(self.passes.valid):
                    m.next = "READ"
            with m.State("READ"):
                m.d.comb += self.request.ready.eq(~s1_valid | fetch)
                with m.If(self.done):
                    m.next = "FREE"
            with m.State("FREE"):
                # Rows that are never read, such as the padding behind a bias, must have come too.
                with m.If(~s1_valid & (there >= size)):
                    m.d.comb += freed.eq(size)
                    m.d.sync += head.eq(self._moved(head, size))
                    m.next = "IDLE"
