"""Moves runs of rows between card memory and the feature buffer, in both directions.

It moves a row a clock each way; runs follow each other without a gap. A run is in local memory or
in the host's memory.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.rows import ROW_WIDTH
from hw.fa3c.unit.feature_buffer import FeatureBuffer, feature_write
from hw.shell.ports import read_port, write_port
from hw.stream.queue import Queue

__all__ = ["Load", "Store", "run_layout"]

#: Runs that may be under way. Each is a request, so runs of 16 rows cover 256 clocks of latency.
_RUNS = 16


def run_layout(config):
    """A run of rows.

    place : its first row in the feature buffer
    address : its byte address in memory
    rows : number of rows, at least 1
    host : 1 if it is in the host's memory, else 0 for local memory
    """
    return data.StructLayout(
        {
            "place": range(config.feature_rows),
            "address": 64,
            "rows": range(config.feature_rows + 1),
            "host": 1,
        }
    )


def _announce(m, unit, *queues):
    """Sends a run as a request to its memory, when every queue has a place for a note of it."""
    room = Signal(name="room")
    run = unit.runs.p
    m.d.comb += room.eq(Cat(queue.i.ready for queue in queues).all())
    for port, mine in ((unit.local, ~run.host), (unit.host, run.host)):
        m.d.comb += [
            port.request.valid.eq(unit.runs.valid & room & mine),
            port.request.p.address.eq(run.address),
            port.request.p.beats.eq(run.rows),
        ]
        with m.If(mine):
            m.d.comb += unit.runs.ready.eq(port.request.ready & room)
    for queue in queues:
        m.d.comb += queue.i.valid.eq(unit.runs.valid & unit.runs.ready)
        for name, _ in queue.shape:
            m.d.comb += queue.i.p[name].eq(run[name])


def _walk(m, queue, moved, name):
    """The number of the current row in the oldest run of ``queue``, and whether it is its last."""
    row = Signal.like(queue.o.p.rows, name=f"{name}_row")
    last = Signal(name=f"{name}_last")
    m.d.comb += [last.eq(row == queue.o.p.rows - 1), queue.o.ready.eq(moved & last)]
    with m.If(moved):
        m.d.sync += row.eq(Mux(last, 0, row + 1))
    return row, last


def _fields(config, *names):
    return data.StructLayout({name: run_layout(config)[name].shape for name in names})


class Load(wiring.Component):
    """Moves rows from memory to the feature buffer, run after run.

    The requests of up to 16 runs may be under way. Rows of a run wait at ``local`` or ``host``
    until all earlier runs have moved. A row of the oldest run is at ``o`` in the clock in which
    memory offers it.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    runs : In(stream of run_layout(config))
        Runs to load: to the feature buffer, from local memory or the host's.
    local, host : Out(read_port(512))
        Read ports of local memory and of the host's memory. ``error`` is ignored.
    o : Out(stream of feature_write(config))
        Rows for the feature buffer.
    moved : Out(1)
        One clock: a run is in the feature buffer and may be read. It is the clock after its last
        row was taken.
    """

    LATENCY = 1

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "runs": In(stream.Signature(run_layout(config))),
                "local": Out(read_port(ROW_WIDTH)),
                "host": Out(read_port(ROW_WIDTH)),
                "o": Out(stream.Signature(feature_write(config))),
                "moved": Out(1),
            }
        )

    @classmethod
    def latency_of(cls, rows, memory_latency):
        """Clocks from the taking of a run to ``moved``, if memory sends its rows from
        ``memory_latency`` clocks after the request on, a row a clock."""
        return max(memory_latency, Queue.latency_of(_RUNS)) + rows - 1 + cls.LATENCY

    def elaborate(self, platform):
        m = Module()
        m.submodules.notes = notes = Queue(_fields(self.config, "place", "rows", "host"), _RUNS)
        _announce(m, self, notes)
        moved = Signal()
        row, last = _walk(m, notes, moved, "moved")
        m.d.comb += [
            moved.eq(self.o.valid & self.o.ready),
            self.o.p.row.eq(notes.o.p.place + row),
        ]
        # A row comes after its request, so the note of its run is already there.
        for port, mine in ((self.local, ~notes.o.p.host), (self.host, notes.o.p.host)):
            with m.If(mine):
                m.d.comb += [
                    self.o.p.data.eq(port.data.p.data),
                    self.o.valid.eq(port.data.valid),
                    port.data.ready.eq(self.o.ready),
                ]
        m.d.sync += self.moved.eq(moved & last)
        return m


class Store(wiring.Component):
    """Moves rows from the feature buffer to memory, run after run.

    Up to 16 runs, of both memories together, may be under way until memory has acknowledged them.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    runs : In(stream of run_layout(config))
        Runs to store: from the feature buffer, to local memory or the host's.
    request : Out(stream of row numbers of the feature buffer)
        Rows to read.
    data : In(stream of 512 bits)
        The requested rows.
    local, host : Out(write_port(512))
        Write ports of local memory and of the host's memory. Errors are ignored.
    stored : Out(1)
        One clock for each run, in the order of the runs: memory has acknowledged it. It is the
        clock after the token of memory.
    """

    LATENCY = 1

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "runs": In(stream.Signature(run_layout(config))),
                "request": Out(stream.Signature(range(config.feature_rows))),
                "data": In(stream.Signature(unsigned(ROW_WIDTH))),
                "local": Out(write_port(ROW_WIDTH)),
                "host": Out(write_port(ROW_WIDTH)),
                "stored": Out(1),
            }
        )

    @classmethod
    def latency_of(cls, rows, memory_latency):
        """Clocks from the taking of a run to ``stored``, if no other port reads the feature buffer
        and memory answers ``memory_latency`` clocks after the last row."""
        first = Queue.latency_of(_RUNS) + FeatureBuffer.LATENCY
        return first + rows - 1 + memory_latency + cls.LATENCY

    def elaborate(self, platform):
        m = Module()
        # Rows to fetch, memories for fetched rows, and the memory whose token comes next.
        m.submodules.places = places = Queue(_fields(self.config, "place", "rows"), _RUNS)
        m.submodules.targets = targets = Queue(_fields(self.config, "rows", "host"), _RUNS)
        m.submodules.answers = answers = Queue(_fields(self.config, "host"), _RUNS)
        _announce(m, self, places, targets, answers)
        asked, sent, answered = Signal(), Signal(), Signal()
        row, _ = _walk(m, places, asked, "asked")
        _walk(m, targets, sent, "sent")
        m.d.comb += [
            asked.eq(self.request.valid & self.request.ready),
            self.request.valid.eq(places.o.valid),
            self.request.payload.eq(places.o.p.place + row),
            sent.eq(self.data.valid & self.data.ready),
            answers.o.ready.eq(answered),
        ]
        to, of = targets.o.p.host, answers.o.p.host
        # Rows and tokens come after the requests, so the notes of their runs are already there.
        for port, takes, answers_now in ((self.local, ~to, ~of), (self.host, to, of)):
            m.d.comb += [
                port.data.payload.eq(self.data.payload),
                port.data.valid.eq(self.data.valid & takes),
                port.done.ready.eq(answers_now),
            ]
            with m.If(takes):
                m.d.comb += self.data.ready.eq(port.data.ready)
            with m.If(answers_now):
                m.d.comb += answered.eq(port.done.valid)
        m.d.sync += self.stored.eq(answered)
        return m
