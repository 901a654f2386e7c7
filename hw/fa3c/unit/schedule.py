"""What a compute unit does for a task, in order: rows to load, passes, rows to store.

Three sequences run side by side, each as far as the others allow: loads, passes, and stores. The
parameters of later passes are requested from the start of the task on.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.fa3c.layouts import unit_task
from hw.fa3c.pass_types import Kind
from hw.fa3c.plan import forward_passes, training_passes
from hw.fa3c.unit.mover import run_layout
from hw.fa3c.unit.parameter_buffer import PASS, SEGMENT
from hw.fa3c.unit.task_runs import LoadRuns, StoreRuns

__all__ = ["Schedule", "unit_passes"]


def unit_passes(config, role):
    """``(passes, first)``: all passes of a role, and the position of the first pass of a TRAIN."""
    forward = forward_passes(config) if role != "train" else []
    training = training_passes(config) if role != "infer" else []
    return forward + training, len(forward)


class Schedule(wiring.Component):
    """Executes one task after the other.

    Parameters
    ----------
    config : Fa3cConfig
    role : one of ``ROLES``
        Decides which tasks, and so which passes, the unit can execute.

    Members
    -------
    task : In(stream of unit_task(config))
        The tasks.
    done : Out(1)
        One clock: all that the task writes is acknowledged.
    loads, stores : Out(stream of run_layout(config))
        Runs for ``mover.Load`` and ``mover.Store``.
    moved, stored : In(1)
        One clock for each run of ``loads``: its rows are in the feature buffer. One clock for each
        run of ``stores``: memory has acknowledged it.
    segments : Out(stream of SEGMENT)
        The parameters of one pass after the other, for the parameter buffer to read ahead.
    passes : Out(stream of PASS)
        One for each pass that reads parameters; the parameter buffer takes it when the pass begins.
    parameters_done : Out(1)
        One clock, for a pass that reads parameters: all its requests have been taken.
    start, number, batch : Out
        ``start``: one clock, a pass begins. ``number``: its position in ``unit_passes``; ``batch``:
        the task's count of agents or steps.
    swept : In(1)
        No sweep is under way. Valid from the second clock after ``start`` on.
    written : In(1)
        All rows of outputs are in the feature buffer. Valid from the second clock after ``start``
        on.
    drained : In(1)
        No sums of any group are left in the array or the drain.
    """

    def __init__(self, config, role):
        self.config = config
        self.table, self.training = unit_passes(config, role)
        super().__init__(
            {
                "task": In(stream.Signature(unit_task(config))),
                "done": Out(1),
                "loads": Out(stream.Signature(run_layout(config))),
                "stores": Out(stream.Signature(run_layout(config))),
                "moved": In(1),
                "stored": In(1),
                "segments": Out(stream.Signature(SEGMENT)),
                "passes": Out(stream.Signature(PASS)),
                "parameters_done": Out(1),
                "start": Out(1),
                "number": Out(range(max(2, len(self.table)))),
                "batch": Out(range(config.samples + 1)),
                "swept": In(1),
                "written": In(1),
                "drained": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        task = Signal(unit_task(self.config), reset_less=True)
        layers = len(self.config.layers)
        # Number of maps that are loaded; number of passes that are over.
        loaded, made = Signal(range(layers + 2)), Signal(range(2 * layers))
        begin, passed, kept = Signal(), Signal(), Signal()
        m.d.comb += self.batch.eq(task.count)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.task.ready.eq(1), begin.eq(self.task.valid)]
                m.d.sync += task.eq(self.task.payload)
                with m.If(begin):
                    m.next = "RUN"
            with m.State("RUN"):
                with m.If(passed & kept & self.drained):
                    m.d.comb += self.done.eq(1)
                    m.next = "IDLE"
        self._segments(m, task, begin)
        self._passes(m, task, begin, loaded, made, passed)
        m.submodules.loads = loads = LoadRuns(self.config)
        m.submodules.stores = stores = StoreRuns(self.config)
        connect(m, loads.runs, flipped(self.loads))
        connect(m, stores.runs, flipped(self.stores))
        m.d.comb += [
            loads.begin.eq(begin),
            loads.task.eq(task),
            stores.begin.eq(begin & ~self.task.p.train),
            stores.task.eq(task),
            loads.moved.eq(self.moved),
            loaded.eq(loads.loaded),
            stores.stored.eq(self.stored),
            stores.loaded.eq(loaded),
            stores.made.eq(made),
            kept.eq(stores.kept),
        ]
        return m

    def _first(self, task):
        """Position of the first pass of the task."""
        return Mux(task.train, self.training, 0)

    def _is_last(self, number):
        """Whether pass ``number`` is the last of its task."""
        return (number == self.training - 1) | (number == len(self.table) - 1)

    def _segments(self, m, task, begin):
        """Sends the segments of all passes of the task, in order."""
        at, out = Signal.like(self.number), self.segments
        going, wanted = Signal(), Signal()
        with m.Switch(at):
            for number, p in enumerate(self.table):
                if p.segments is not None:
                    part = p.segments
                    with m.Case(number):
                        m.d.comb += [
                            wanted.eq(1),
                            out.p.base.eq(task.snapshot_row + part.base),
                            out.p.count_a.eq(part.counts[0]),
                            out.p.count_b.eq(part.counts[1]),
                            out.p.stride_a.eq(part.strides[0]),
                            out.p.stride_b.eq(part.strides[1]),
                            out.p.rows.eq(part.rows),
                            out.p.turns.eq(part.turns),
                        ]
        m.d.comb += out.valid.eq(going & wanted)
        with m.If(begin):
            m.d.sync += [going.eq(1), at.eq(self._first(self.task.p))]
        with m.Elif(going & (~wanted | out.ready)):
            m.d.sync += [at.eq(at + 1), going.eq(~self._is_last(at))]

    def _passes(self, m, task, begin, loaded, made, passed):
        layers = len(self.config.layers)
        number, out = Signal.like(self.number), self.passes
        needs, gradient, has_parameters = Signal.like(loaded), Signal(), Signal()
        with m.Switch(number):
            for position, p in enumerate(self.table):
                with m.Case(position):
                    wanted = 1 if p.kind == Kind.FW else 1 + layers - p.layer
                    m.d.comb += [needs.eq(wanted), gradient.eq(p.kind == Kind.GC)]
                    if p.segments is not None:
                        m.d.comb += [
                            has_parameters.eq(1),
                            out.p.total.eq(p.segments.total),
                            out.p.resident.eq(p.segments.resident),
                        ]
        m.d.comb += self.number.eq(number)
        with m.FSM(name="passes"):
            with m.State("IDLE"):
                m.d.comb += passed.eq(~begin)
                with m.If(begin):
                    m.d.sync += [number.eq(self._first(self.task.p)), made.eq(0)]
                    m.next = "WAIT"
            with m.State("WAIT"):
                with m.If(loaded >= needs):
                    m.d.comb += [
                        out.valid.eq(has_parameters),
                        self.start.eq(~has_parameters | out.ready),
                    ]
                with m.If(self.start):
                    m.next = "BEGUN"
            with m.State("BEGUN"):
                m.next = "RUN"
            with m.State("RUN"):
                with m.If(Mux(gradient, self.swept, self.written)):
                    m.d.comb += self.parameters_done.eq(has_parameters)
                    m.d.sync += [number.eq(number + 1), made.eq(made + 1)]
                    m.next = "WAIT"
                    with m.If(self._is_last(number)):
                        m.next = "IDLE"
