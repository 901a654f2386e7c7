"""Runs of rows in card memory, as requests of the ports that read or write them.

A request a clock where all ports take it; the first shows one clock after its list was taken.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.rows import ROW_BYTES
from hw.shell.axi import REQUEST

__all__ = ["RunWalk"]


class RunWalk(wiring.Component):
    """Ask each port of ``targets`` for ``beats`` rows at ``row``, ``row + step``, ..., ``count``
    times.

    Ports take a request when they like, and the next one shows when all have.

    Parameters
    ----------
    ports : int
    rows : int
        Rows that an address can name.

    Members
    -------
    runs : In(stream.Signature({row, step, beats, count, targets}))
        ``count`` and ``beats`` at least 1; bit p of ``targets`` is port p. Taken while no other
        list is under way.
    bases : In(64).array(ports)
        Byte address of row 0, on a whole row, steady.
    requests : Out(stream.Signature(REQUEST)).array(ports)
        Of beats of a row each.
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
        owing, after = Signal(self.count), Signal(self.count)  # ports to ask for the run on show
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
