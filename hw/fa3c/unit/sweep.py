"""Sweeps: the words of a line pass the rows that the PEs hold, one slot each clock.

This is the only place where a compute unit waits: a sweep begins when its line and its rows have
come and, if it ends sums, a half of the output line is free. Once begun, a sweep never stalls
(docs/flow_control.md).
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.config import LINE_ROWS, SLOTS
from hw.fa3c.pass_types import BATCH, Kind, Source
from hw.fa3c.rows import ROW, ROW_WIDTH
from hw.fa3c.unit.array import PeArray
from hw.fa3c.unit.drain import GROUP
from hw.fa3c.unit.line_buffer import LineBuffer
from hw.fa3c.unit.loop_nest import LoopNest, Loops, of_pass
from hw.stream.delay import delay

__all__ = ["Sweep"]

#: Position of each level in the nest of a sweep, 0 outermost; ``plan`` numbers them from 6 to 0.
_SAMPLE_LEVEL, _ROW_LEVEL, _GROUP_LEVEL, _LINE_LEVEL, _COLUMN_LEVEL, _CHUNK_LEVEL, _SLOT_LEVEL = (
    range(7)
)


class Sweep(wiring.Component):
    """Drives the array and the line buffer, and sends groups to the drain.

    Parameters
    ----------
    config : Fa3cConfig
    passes : sequence of pass_types.Pass
        The passes that ``number`` can name.

    Members
    -------
    start, number, batch : In
        ``start``, for one clock while not ``busy``: begin the pass ``number`` of ``passes``.
        ``batch`` is the count of the task: its agents or its steps. ``number`` and ``batch`` are
        steady from ``start`` on.
    busy : Out(1)
        From the clock after ``start`` on: slots of the pass are left to sweep.
    rows : In(stream of 512 bits)
        The rows for the PEs: ``lanes`` rows for each sweep; in GC one row, for all lanes; 16 rows
        of COLUMNS.
    line_full : In(1)
        The line buffer has a whole line.
    line_release, line_address, line_wide, line_one : Out
        Drive ``release``, ``address``, ``wide`` and ``one`` of the ``LineBuffer``.
    row, load, columns, column, chunk, swap, slot, first, last, half, valid : Out
        Drive the inputs of ``PeArray`` with these names, ``LineBuffer.LATENCY`` clocks after the
        address of their words.
    group : Out(stream of GROUP)
        A group of sums, in the clock of its last sum from the array to the drain. It is always
        taken: each group owns a half of the output line.
    free : In(1)
        One clock: a half of the output line is free again.
    drained : Out(1)
        The drain has freed the halves of all groups that have ended.
    """

    INTERVAL = 1

    def __init__(self, config, passes):
        self.config, self.passes = config, tuple(passes)
        # Rows for a sweep, at most.
        self._held = ROW if config.layout == "alt1" else config.lanes
        loops = [
            Loops(
                p.words.counts,
                ((p.words.strides, p.words.base), (p.slots, 0)),
                last=p.last_slots,
                extra=p.bias,
                taps=p.taps and p.taps[:3],
                rows=((0, 0), (0, 0)),
            )
            for p in self.passes
        ]
        self.nest = LoopNest(loops, ("word", "slot"), config.samples)
        super().__init__(
            {
                **self.nest.control,
                "rows": In(stream.Signature(unsigned(ROW_WIDTH))),
                "line_full": In(1),
                "line_release": Out(1),
                "line_address": Out(range(LINE_ROWS * 4 * ROW // config.lanes)),
                "line_wide": Out(1),
                "line_one": Out(1),
                "row": Out(ROW_WIDTH),
                "load": Out(config.lanes),
                **{n: each.flip() for n, each in PeArray.column_members(config).items()},
                "swap": Out(1),
                "slot": Out(range(SLOTS)),
                "first": Out(1),
                "last": Out(1),
                "half": Out(1),
                "valid": Out(1),
                "group": Out(stream.Signature(GROUP)),
                "free": In(1),
                "drained": Out(1),
            }
        )

    def _constants(self, m):
        """Constants of the running pass, by name."""
        config = self.config

        def split(p):
            return p.partials > 1

        def outputs(p):
            return p.drain.counts[-1] if p.drain else 0

        tables = {
            "broadcast": lambda p: p.source == Source.ERRORS,
            "columns": lambda p: p.source == Source.COLUMNS,
            "wide": lambda p: p.kind != Kind.BW and config.layers[p.layer].per_row > ROW,
            "split": split,
            "lines_inside": lambda p: p.line_level == 2,
            "tapped": lambda p: p.taps is not None,
            "stride": lambda p: p.taps.stride if p.taps else 0,
            "late": lambda p: p.taps.kernel - p.taps.stride if p.taps else 0,
            "ending": lambda p: p.words.counts[_CHUNK_LEVEL] - p.partials,
            "partials": lambda p: p.partials,
            "hold": lambda p: p.hold,
            "gradient": lambda p: p.kind == Kind.GC,
            "mask": lambda p: p.kind == Kind.BW,
            "relu": lambda p: p.relu and p.kind == Kind.FW,
            "fold": lambda p: p.fold[0] if p.fold else 0,
            "skipped": lambda p: p.fold[1] - p.fold[0] if p.fold else 0,
            "of_batch": lambda p: p.drain is not None and outputs(p) == BATCH,
            "outputs": outputs,
        }
        return {
            name: of_pass(m, self.number, [table(p) for p in self.passes], name)
            for name, table in tables.items()
        }

    def elaborate(self, platform):
        m = Module()
        nest = self.nest
        nest.runs(m, self)
        p, turn = self._constants(m), nest.o.p
        chunk, column = turn.index[f"level_{_CHUNK_LEVEL}"], turn.index[f"level_{_COLUMN_LEVEL}"]
        elapsed = turn.index[f"level_{_SLOT_LEVEL}"]
        step, begins, ends = Signal(), Signal(), Signal()
        started, loaded = Signal(), Signal(range(self._held + 1))
        full, wait = Signal(), Signal.like(p["hold"])
        used = Signal(range(3))  # halves of the output line that are in use
        # ``opens``, ``closes``: levels 3 to 1 are in their first or last turn, so sums begin or
        # end. In BW with taps, the columns at the two ends have the first and last tap of a slot.
        opens, closes = Signal(), Signal()
        leftmost, rightmost = Signal(), Signal()
        group_ends, line_ends, bias = Signal(), Signal(), Signal()
        m.d.comb += [
            self.drained.eq(used == 0),
            begins.eq(turn.first[_SLOT_LEVEL]),
            ends.eq(turn.last[_SLOT_LEVEL]),
            leftmost.eq(
                turn.first[_COLUMN_LEVEL] | (p["tapped"] & ((column < p["stride"]) | ends))
            ),
            rightmost.eq(
                turn.last[_COLUMN_LEVEL] | (p["tapped"] & ((column >= p["late"]) | begins))
            ),
            opens.eq(turn.first[_LINE_LEVEL] & (chunk < p["partials"]) & leftmost),
            closes.eq(turn.last[_LINE_LEVEL] & (chunk >= p["ending"]) & rightmost),
            group_ends.eq(turn.last[_LINE_LEVEL:].all()),
            line_ends.eq(
                turn.last[_CHUNK_LEVEL:].all() & (p["lines_inside"] | turn.last[_COLUMN_LEVEL])
            ),
            bias.eq(p["gradient"] & turn.last[_ROW_LEVEL] & turn.last[_GROUP_LEVEL]),
            started.eq(
                self.line_full
                & full
                & (wait == 0)
                & ((used != 2) | ~(turn.last[_LINE_LEVEL] & (chunk >= p["ending"])))
            ),
            nest.o.ready.eq(~begins | started),
            step.eq(nest.o.valid & nest.o.ready),
            self.line_release.eq(step & line_ends),
            self.line_address.eq(turn.word + self._skipped(m, p, step, ends)),
            self.line_wide.eq(p["wide"]),
            self.line_one.eq(bias & ends),
        ]
        with m.If(step & ends & (elapsed + 1 < p["hold"])):
            m.d.sync += wait.eq(p["hold"] - 1 - elapsed)
        with m.Elif(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        self._rows(m, p, step & begins, full, loaded)
        self._steps(m, p, turn, step, begins, opens, closes, chunk)
        half = self._groups(m, p, step & group_ends, bias, elapsed, used)
        later = LineBuffer.LATENCY
        m.d.comb += self.half.eq(delay(m, half, later, name="half"))
        return m

    def _skipped(self, m, p, step, ends):
        """The chunks between the folds of a sweep, so far."""
        if not any(each.fold for each in self.passes):
            return 0
        turns, skipped = Signal.like(p["fold"]), Signal.like(self.line_address)
        again = Signal()
        m.d.comb += again.eq(turns + 1 == p["fold"])
        with m.If(step):
            m.d.sync += turns.eq(Mux(ends | again, 0, turns + 1))
            with m.If(ends):
                m.d.sync += skipped.eq(0)
            with m.Elif(again):
                m.d.sync += skipped.eq(skipped + p["skipped"])
        return skipped

    def _rows(self, m, p, swap, full, loaded):
        """Loads the next rows into the array, in the clock of a swap at the earliest."""
        lanes, later = self.config.lanes, LineBuffer.LATENCY
        take, load = Signal(), Signal(lanes)
        place, wanted = Signal.like(loaded), Signal.like(loaded)
        m.d.comb += [
            wanted.eq(Mux(p["columns"], ROW, lanes)),
            full.eq(loaded == wanted),
            place.eq(Mux(swap, 0, loaded)),
            self.rows.ready.eq(~full | swap),
            take.eq(self.rows.valid & self.rows.ready),
            load.eq(Mux(take, Mux(p["broadcast"] | p["columns"], (1 << lanes) - 1, 1 << place), 0)),
            self.row.eq(delay(m, self.rows.payload, later, name="row")),
            self.load.eq(delay(m, load, later, name="load", reset=True)),
            self.swap.eq(delay(m, swap, later, name="swap", reset=True)),
        ]
        m.d.sync += loaded.eq(Mux(take, Mux(p["broadcast"], lanes, place + 1), place))
        if self.config.layout == "alt1":
            self._columns(m, p, take, place)

    def _columns(self, m, p, take, place):
        """The 16 rows of a patch come again for each chunk of their words."""
        later, chunk = LineBuffer.LATENCY, Signal.like(self.chunk)
        m.d.comb += [
            self.columns.eq(delay(m, p["columns"], later, name="columns")),
            self.column.eq(delay(m, place[: len(self.column)], later, name="column")),
            self.chunk.eq(delay(m, chunk, later, name="chunk")),
        ]
        with m.If(take & p["columns"] & (place == ROW - 1)):
            m.d.sync += chunk.eq(Mux(chunk == ROW // self.config.lanes - 1, 0, chunk + 1))

    def _steps(self, m, p, turn, step, begins, opens, closes, chunk):
        later = LineBuffer.LATENCY
        slot = Signal(range(SLOTS))
        m.d.comb += [
            slot.eq(turn.slot + ((p["split"] & chunk[0]) << 4)),
            self.slot.eq(delay(m, slot, later, name="slot")),
            self.first.eq(delay(m, opens, later, name="first")),
            self.last.eq(delay(m, closes, later, name="last")),
            self.valid.eq(delay(m, step, later, name="valid", reset=True)),
        ]

    def _groups(self, m, p, ended, bias, elapsed, used):
        """Sends a group when its last step has passed the array, so all its sums have come."""
        half, group = Signal(), Signal(GROUP)
        slots = Signal(range(SLOTS + 2))
        m.d.comb += [
            slots.eq(elapsed + 1 - bias),
            group.gradient.eq(p["gradient"]),
            group.count.eq(Mux(p["gradient"], slots, Mux(p["of_batch"], self.batch, p["outputs"]))),
            group.bias.eq(bias),
            group.relu.eq(p["relu"]),
            group.mask.eq(p["mask"]),
            group.split.eq(p["split"]),
        ]
        m.d.sync += [half.eq(half ^ ended), used.eq(used + ended - self.free)]
        clocks = LineBuffer.LATENCY + PeArray.LATENCY
        m.d.comb += [  # there is room: a group owns a half of the output line
            self.group.valid.eq(delay(m, ended, clocks, name="ended", reset=True)),
            self.group.payload.eq(delay(m, group, clocks, name="group")),
        ]
        return half
