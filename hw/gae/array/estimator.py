"""The array: rows of PEs beside the stack, with counters of their work (HEPPO III-C, IV).

It takes one slot of all rows a clock, so an ESTIMATE of n slots takes n clocks and a constant
(``cycles_of``).
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.gae.array.pe import PE, coefficient_ports
from hw.gae.array.stack import Stack
from hw.gae.layouts import result_layout, slot_layout
from hw.gae.records import Kind
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["Estimator"]

#: Signals of one bit that are counted at once: a lookup table's inputs.
_GROUP = 6


class Estimator(wiring.Component):
    """Computes advantages and rewards-to-go of all slots on the stack; they replace the slots'
    codes.

    Parameters
    ----------
    config : GaeConfig

    Members
    -------
    clear : In(1)
        Pulse: drop all slots; ``saturated`` and ``overflows`` become 0.
    push : In(stream of slot_layout(config)), fill : Out(range(depth + 2))
        Slots for the stack, the earliest first; number of slots on the stack.
    rewind : In(1), rewind_to : In(range(depth + 2))
        Pulse: drop the slots from number ``rewind_to`` on.
    pull : In(1), pull_count : In(range(depth + 2)), o : Out(stream of result_layout(config))
        Pulse: the results of the first ``pull_count`` slots leave through ``o``, in the order of
        time.
    start : In(1), done : Out(1)
        Pulses: an ESTIMATE begins; it has ended, and the counters have their final values.
    <coefficient_ports(config)> : In
        gamma, decay, decay_power, and scales and means of rewards, values and results. Steady from
        ``start`` to ``done``.
    cycles : Out(32)
        Clocks of the last ESTIMATE, from ``start`` to ``done``.
    busy : Out(40)
        Number of STEPs and TERMINALs of all rows in the last ESTIMATE.
    saturated, overflows : Out(32)
        Number of slots since ``clear`` in which a row's result was clipped, or a row's sum wrapped.
    """

    def __init__(self, config):
        self.config = config
        count = range(config.depth + 2)
        super().__init__(
            {
                "clear": In(1),
                "push": In(stream.Signature(slot_layout(config))),
                "fill": Out(count),
                "rewind": In(1),
                "rewind_to": In(count),
                "start": In(1),
                "done": Out(1),
                **{name: In(shape) for name, shape in coefficient_ports(config).items()},
                "pull": In(1),
                "pull_count": In(count),
                "o": Out(stream.Signature(result_layout(config))),
                "cycles": Out(32),
                "busy": Out(40),
                "saturated": Out(32),
                "overflows": Out(32),
            }
        )

    @staticmethod
    def cycles_of(config, slots):
        """Clocks of an ESTIMATE of ``slots``."""
        # From the stack: its pointer, its read; to the counters: any row, the sum.
        return max(slots, 1) + 1 + PE.latency_of(config) + 2

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.stack = stack = Stack(config)
        for name in ("clear", "rewind", "rewind_to", "pull", "pull_count"):
            m.d.comb += getattr(stack, name).eq(getattr(self, name))
        m.d.comb += [stack.pop.eq(self.start), self.fill.eq(stack.fill)]
        wiring.connect(m, wiring.flipped(self.push), stack.push)
        wiring.connect(m, stack.o, wiring.flipped(self.o))

        latency = PE.latency_of(config)
        valid = delay(m, stack.popped.valid, latency, name="valid", reset=True)
        last = delay(m, stack.popped.last, latency, name="last", reset=True)
        m.d.comb += stack.results.valid.eq(valid)
        active, saturated, overflow = (Signal(config.rows) for _ in range(3))
        for row in range(config.rows):
            m.submodules[f"pe_{row}"] = pe = SharedModule(PE, config)
            slot = stack.popped.slot[row]
            m.d.comb += [
                pe.i.eq(slot),
                *(getattr(pe, name).eq(getattr(self, name)) for name in coefficient_ports(config)),
                stack.results.result[row].eq(pe.o),
                active[row].eq((slot.kind == Kind.STEP) | (slot.kind == Kind.TERMINAL)),
                saturated[row].eq(pe.saturated),
                overflow[row].eq(pe.overflow),
            ]
        self._count(m, active, valid, saturated, overflow)

        running = Signal()
        m.d.comb += self.done.eq(delay(m, last, 2, name="done", reset=True))
        with m.If(self.start):
            m.d.sync += [running.eq(1), self.cycles.eq(1)]
        with m.Elif(self.done):
            m.d.sync += running.eq(0)
        with m.Elif(running):
            m.d.sync += self.cycles.eq(self.cycles + 1)
        return m

    def _count(self, m, active, valid, saturated, overflow):
        # The sum of 256 rows is in ``busy`` before the first result leaves a PE.
        with m.If(self.start):
            m.d.sync += self.busy.eq(0)
        with m.Else():
            m.d.sync += self.busy.eq(self.busy + _population(m, active))
        for count, rows in ((self.saturated, saturated), (self.overflows, overflow)):
            any_row = delay(m, rows.any() & valid, 1, name="any_row", reset=True)
            with m.If(self.clear):
                m.d.sync += count.eq(0)
            with m.Elif(any_row):
                m.d.sync += count.eq(count + 1)


def _population(m, bits):
    """How many of ``bits`` are 1, some clocks later: a tree of small registered sums."""
    numbers, level = list(bits), 0
    while len(numbers) > 1:
        groups = [numbers[k : k + _GROUP] for k in range(0, len(numbers), _GROUP)]
        numbers = [
            delay(m, sum(group), 1, name=f"ones_{level}_{k}", reset=True)
            for k, group in enumerate(groups)
        ]
        level += 1
    return numbers[0]
