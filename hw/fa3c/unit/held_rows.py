"""Brings the rows that the PEs hold: parameters, transposed for BW, or errors.

The TLU, FA3C's transposing load unit (4.4.3), is a ``Transpose``: patches of 16 x 16 words are
transposed on their way, a row in and a row out every clock.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.float32.format import WIDTH
from hw.fa3c.pass_types import Kind, Source
from hw.fa3c.rows import ROW, ROW_WIDTH
from hw.fa3c.unit.loop_nest import LoopNest, Loops, of_pass
from hw.fa3c.unit.parameter_buffer import OFFSET
from hw.stream.queue import Queue
from hw.stream.transpose import Transpose

__all__ = ["HeldRows"]

#: Rows that may be requested from a buffer and not yet taken.
_UNDER_WAY = 16


def _levelled(values, levels, filler):
    """``values`` of so many ``levels``; those that are missing come before the last."""
    return (*values[:-1], *[filler] * (levels - len(values)), values[-1])


class HeldRows(wiring.Component):
    """Brings every row of a pass, in order. In FW, a row of biases ends each group.

    Parameters
    ----------
    config : Fa3cConfig
    passes : sequence of pass_types.Pass
        The passes that ``number`` can name.

    Members
    -------
    start, number, batch : In
        ``start``, for one clock when all rows of the pass before have been taken: begin the pass
        ``number`` of ``passes``. ``batch`` is the count of the task: its agents or its steps.
        ``number`` and ``batch`` are steady from ``start`` on.
    busy : Out(1)
        From the clock after ``start`` on: rows for the PEs are left to request.
    parameter_request : Out(stream of row numbers)
        Rows of the parameter buffer; 0 is the first row of the pass.
    parameters : In(stream of 512 bits)
        The requested rows of parameters.
    error_request : Out(stream of row numbers of the feature buffer)
        Rows of errors to read.
    errors : In(stream of 512 bits)
        The requested rows of errors.
    o : Out(stream of 512 bits)
        The rows for the PEs.
    biases : Out(stream of 512 bits)
        The rows of biases.
    """

    INTERVAL = 1

    def __init__(self, config, passes):
        self.passes = tuple(passes)
        levels = max(len(p.rows.counts) for p in self.passes)
        loops = [
            Loops(
                _levelled(p.rows.counts, levels, 1),
                ((_levelled(p.rows.strides, levels, 0), p.rows.base),),
                taps=p.taps and p.taps[:3],
                rows=((p.taps.rows_later, p.taps.rows_wrapped),) if p.taps else (),
            )
            for p in self.passes
        ]
        self.nest = LoopNest(loops, ("row",), config.samples)
        row = unsigned(ROW_WIDTH)
        super().__init__(
            {
                **self.nest.control,
                "parameter_request": Out(stream.Signature(OFFSET)),
                "parameters": In(stream.Signature(row)),
                "error_request": Out(stream.Signature(range(config.feature_rows))),
                "errors": In(stream.Signature(row)),
                "o": Out(stream.Signature(row)),
                "biases": Out(stream.Signature(row)),
            }
        )

    def _is(self, m, name, test):
        """A signal: ``test`` holds for the running pass."""
        return of_pass(m, self.number, [test(p) for p in self.passes], name)

    def elaborate(self, platform):
        m = Module()
        nest = self.nest
        nest.runs(m, self)
        forward = self._is(m, "forward", lambda p: p.kind == Kind.FW)
        errors = self._is(m, "from_errors", lambda p: p.source == Source.ERRORS)

        # For each row of parameters under way: whether it is a row of biases.
        m.submodules.kinds = kinds = Queue(unsigned(1), _UNDER_WAY)
        bias, bias_row = Signal(), Signal(nest.spans[0])
        issue = Signal()
        m.d.comb += [
            self.parameter_request.payload.eq(Mux(bias, bias_row, nest.o.p.row)),
            self.parameter_request.valid.eq((nest.o.valid | bias) & kinds.i.ready & ~errors),
            self.error_request.payload.eq(nest.o.p.row),
            self.error_request.valid.eq(nest.o.valid & errors),
            issue.eq(self.parameter_request.valid & self.parameter_request.ready),
            nest.o.ready.eq(Mux(errors, self.error_request.ready, issue & ~bias)),
            kinds.i.payload.eq(bias),
            kinds.i.valid.eq(issue),
        ]
        with m.If(issue):
            m.d.sync += [
                bias.eq(forward & ~bias & nest.o.p.last[3:].all()),
                bias_row.eq(nest.o.p.row + 1),
            ]

        ready = Signal()  # the stream that gets this row of parameters is ready
        arrived = Signal()
        m.d.comb += [
            arrived.eq(self.parameters.valid & kinds.o.valid),
            self.biases.payload.eq(self.parameters.payload),
            self.biases.valid.eq(arrived & kinds.o.payload),
            self.parameters.ready.eq(kinds.o.valid & ready),
            kinds.o.ready.eq(self.parameters.valid & ready),
            ready.eq(Mux(kinds.o.payload, self.biases.ready, self.o.ready)),
            self.o.payload.eq(Mux(errors, self.errors.payload, self.parameters.payload)),
            self.o.valid.eq(Mux(errors, self.errors.valid, arrived & ~kinds.o.payload)),
            self.errors.ready.eq(self.o.ready & errors),
        ]
        if any(p.source == Source.TRANSPOSED for p in self.passes):
            m.submodules.tlu = tlu = Transpose(WIDTH, ROW)
            m.d.comb += tlu.i.payload.eq(self.parameters.payload)
            with m.If(self._is(m, "transposed", lambda p: p.source == Source.TRANSPOSED)):
                m.d.comb += [
                    tlu.i.valid.eq(arrived),
                    ready.eq(tlu.i.ready),
                    self.o.payload.eq(tlu.o.payload),
                    self.o.valid.eq(tlu.o.valid),
                    tlu.o.ready.eq(self.o.ready),
                ]
        return m
