"""Requests for runs of rows in card memory, to the ports that read or write them.

If all ports take it at once, a request takes one clock; the first request is there one clock after
its list was taken.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.rows import ROW_BYTES
from hw.shell.axi import REQUEST

__all__ = ["RunWalk"]


class RunWalk(wiring.Component):
    """Sends ``count`` requests to each port that ``targets`` names: request n is for ``beats`` rows
    from row ``row + n * step`` on, for n = 0, 1, ...

    Each port takes a request when it is ready; the next request comes when all these ports have
    taken it.

    Parameters
    ----------
    ports : int
        Ports that can be asked.
    rows : int
        Rows that an address can name.

    Members
    -------
    runs : In(stream.Signature({row, step, beats, count, targets}))
        A list of runs: first row, rows from the beginning of a run to that of the next, rows of a
        run (at least 1), number of runs (at least 1), and a bit for each port that is asked. Taken
        while no other list is in progress.
    bases : In(64).array(ports)
        Byte address of row 0 for each port: a multiple of a row, steady.
    requests : Out(stream.Signature(REQUEST)).array(ports)
        Requests whose beats are whole rows.
    """

    INTERVAL = 1
    LATENCY = 1

    def __init__(self, ports, rows):
        self.count = ports
        self.runs_layout = data.StructLayout(
            {
                "row": range(rows),
                "step": range(rows),
                "beats": REQUEST["beats"].shape,
                "count": range(rows + 1),
                "targets": ports,
            }
        )
        super().__init__(
            {
                "runs": In(stream.Signature(self.runs_layout)),
                "bases": In(64).array(ports),
                "requests": Out(stream.Signature(REQUEST)).array(ports),
            }
        )

    def elaborate(self, platform):
        m = Module()
        busy = Signal()
        run = Signal(self.runs_layout, reset_less=True)
        # Ports that have not taken the request of this run: now, and after this clock.
        owing, after = Signal(self.count), Signal(self.count)
        m.d.comb += [
            self.runs.ready.eq(~busy),
            after.eq(owing & ~Cat(request.ready for request in self.requests)),
        ]
        for number, request in enumerate(self.requests):
            m.d.comb += [
                request.valid.eq(owing[number]),
                request.p.address.eq(self.bases[number] + run.row * ROW_BYTES),
                request.p.beats.eq(run.beats),
            ]
        m.d.sync += owing.eq(after)
        with m.If(self.runs.valid & self.runs.ready):
            m.d.sync += [
                busy.eq(1),
                run.eq(self.runs.payload),
                owing.eq(self.runs.p.targets),
            ]
        with m.Elif(busy & (after == 0)):
            m.d.sync += [
                run.row.eq(run.row + run.step),
                run.count.eq(run.count - 1),
                busy.eq(run.count != 1),
                owing.eq(Mux(run.count == 1, 0, run.targets)),
            ]
        return m
