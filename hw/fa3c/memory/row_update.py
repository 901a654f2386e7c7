"""RMSProp of whole rows: 16 / rms_units clocks a row, without a gap between rows.

The words of a row pass the RUs in order, ``rms_units`` of them a clock. Nothing behind the intake
ever stalls: a row begins only if the queues have a place for its results
(``docs/flow_control.md``).
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.float32.format import WIDTH
from hw.fa3c.memory.rms_unit import RMS_COEFFICIENTS, RmsUnit
from hw.fa3c.rows import ROW, ROW_WIDTH
from hw.nn.td_loss import is_finite
from hw.shared import SharedModule
from hw.stream.delay import delay
from hw.stream.queue import Queue

__all__ = ["RowUpdate"]

#: Registers between a row and the RUs; clocks that a result row spends in its queue.
_INTAKE, _QUEUE = 1, Queue.latency_of(1)


class RowUpdate(wiring.Component):
    """``new_squares, new_theta = RMSProp(gradient, squares, theta)`` for each of the 16 binary32
    words of a row, by the formulas of ``RmsUnit``.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    coefficients : In(RMS_COEFFICIENTS)
        rate, decay, gain and epsilon; steady while rows are inside.
    gradient, squares, theta : In(stream.Signature(unsigned(512)))
        One row of each is taken in the same clock, the last of those in which its words are read.
    new_squares, new_theta : Out(stream.Signature(unsigned(512)))
        The new rows. Neither stream waits for the other.
    overflow : Out(2)
        A bit is high for one clock for each row that has a word that is infinite or a NaN, no
        later than the row can be taken. Bit 0: a row of new_theta; bit 1: a row of new_squares.
    """

    #: Clocks from the taking of a row to its new_squares, and to its new_theta.
    SQUARES_LATENCY = _INTAKE + RmsUnit.SQUARES_LATENCY + _QUEUE
    LATENCY = _INTAKE + RmsUnit.LATENCY + _QUEUE

    def __init__(self, config):
        self.config = config
        self.interval = ROW // config.rms_units
        row = stream.Signature(unsigned(ROW_WIDTH))
        super().__init__(
            {
                "coefficients": In(RMS_COEFFICIENTS),
                **{name: In(row) for name in ("gradient", "squares", "theta")},
                **{name: Out(row) for name in ("new_squares", "new_theta")},
                "overflow": Out(2),
            }
        )

    def elaborate(self, platform):
        m = Module()
        interval = self.interval
        inputs = {name: getattr(self, name) for name in ("gradient", "squares", "theta")}
        part = Signal(range(max(2, interval)))
        first, last, moving = Signal(), Signal(), Signal()
        rooms = {name: Signal(name=f"room_{name}") for name in ("squares", "theta")}
        m.d.comb += [
            first.eq(part == 0),
            last.eq(part == interval - 1),
            # A row that has begun stays there: a stream keeps its payload until it is taken.
            moving.eq(~first | Cat(*(row.valid for row in inputs.values()), *rooms.values()).all()),
        ]
        for row in inputs.values():
            m.d.comb += row.ready.eq(moving & last)
        with m.If(moving):
            m.d.sync += part.eq(Mux(last, 0, part + 1))

        results = self._units(m, {name: row.payload for name, row in inputs.items()}, part)
        taken = delay(m, moving & last, _INTAKE, name="taken", reset=True)
        for name, latency in (("squares", RmsUnit.SQUARES_LATENCY), ("theta", RmsUnit.LATENCY)):
            there = delay(m, taken, latency, name=f"{name}_there", reset=True)
            begun = moving & first
            self._collect(m, name, results[name], there, begun, latency, rooms[name])
        return m

    def _units(self, m, rows, part):
        """The RUs: {"squares", "theta"} -> the new words of one part of a row, side by side."""
        count = self.config.rms_units
        words = {name: Signal(count * WIDTH, name=f"s1_{name}", reset_less=True) for name in rows}
        for name, row in rows.items():
            m.d.sync += words[name].eq(row.word_select(part, count * WIDTH))
        units = [SharedModule(RmsUnit) for _ in range(count)]
        for number, unit in enumerate(units):
            m.submodules[f"unit_{number}"] = unit
            m.d.comb += unit.coefficients.eq(self.coefficients)
            for name, word in words.items():
                m.d.comb += getattr(unit, name).eq(word.word_select(number, WIDTH))
        return {
            "squares": Cat(unit.new_squares for unit in units),
            "theta": Cat(unit.new_theta for unit in units),
        }

    def _collect(self, m, name, new, there, begun, latency, room):
        """Joins the parts to rows, in a queue that has a place for each row that has begun."""
        o = getattr(self, f"new_{name}")
        # Rows that can begin from the clock in which a row begins until its place is free again.
        clocks = self.interval + _INTAKE + latency + _QUEUE
        depth = (clocks - 1) // self.interval + 1
        m.submodules[f"queue_{name}"] = queue = Queue(o.payload.shape(), depth)
        row = new
        if self.interval > 1:
            earlier = Signal((self.interval - 1) * len(new), name=f"{name}_parts", reset_less=True)
            row = Cat(earlier, new)
            m.d.sync += earlier.eq(row[len(new) :])
        used = Signal(range(depth + 1), name=f"{name}_used")
        m.d.comb += [
            queue.i.payload.eq(row),
            queue.i.valid.eq(there),
            room.eq(used != depth),
        ]
        m.d.sync += used.eq(used + begun - (o.valid & o.ready))
        words = (row.word_select(n, WIDTH) for n in range(ROW))
        infinite = Cat(~is_finite(word) for word in words).any()
        m.d.sync += self.overflow[("theta", "squares").index(name)].eq(there & infinite)
        wiring.connect(m, queue.o, wiring.flipped(o))
