"""A compute unit: executes one task after the other, an inference or the gradient of a rollout.

Read it from memory to the PEs. ``Load``, ``Store`` and the parameter buffer move rows, as
``Schedule`` tells them. ``Fill`` stitches lines and ``HeldRows`` brings the rows that the PEs hold;
both together are FA3C's buffer control unit. ``Sweep`` drives the array. ``Drain`` adds up the
lanes, and rows of outputs are scattered to their places in the feature buffer.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.fa3c.layouts import unit_task
from hw.fa3c.rows import ROW_WIDTH
from hw.fa3c.unit.array import PeArray
from hw.fa3c.unit.drain import Drain
from hw.fa3c.unit.feature_buffer import FeatureBuffer
from hw.fa3c.unit.fill import Fill
from hw.fa3c.unit.held_rows import HeldRows
from hw.fa3c.unit.line_buffer import LineBuffer
from hw.fa3c.unit.loop_nest import LoopNest, Loops
from hw.fa3c.unit.mover import Load, Store
from hw.fa3c.unit.parameter_buffer import ParameterBuffer
from hw.fa3c.unit.schedule import Schedule, unit_passes
from hw.fa3c.unit.sweep import Sweep
from hw.shell.ports import read_port, write_port
from hw.stream.queue import Queue

__all__ = ["ComputeUnit"]

#: Places for rows of biases that wait for their groups.
_BIASES = 2


class ComputeUnit(wiring.Component):
    """The ``lanes`` x 16 PEs with their buffers, and all that executes a task on them: an INFER, or
    the gradient of a TRAIN.

    Parameters
    ----------
    config : Fa3cConfig
    number : int
        Number of the unit; ``config.units[number]`` is its role.

    Members
    -------
    task : In(stream of unit_task(config))
        Tasks, which are executed one after the other.
    done : Out(1)
        One clock: memory has acknowledged all that the task writes, and all rows of its gradient
        were taken.
    parameters : Out(read_port(512))
        Reads a snapshot in local memory; byte offsets.
    features : Out(read_port(512))
        Reads rollouts in local memory; byte offsets.
    screens : Out(read_port(512))
        Reads observations, or errors, from operands.
    rollout : Out(write_port(512))
        Writes rollouts to local memory.
    outputs : Out(write_port(512))
        Writes outputs to results.
    gradients : Out(stream of 512 bits)
        Rows of weights and of biases, the last layer first, each layer in the order of memory.
    begun : Out(1)
        One clock: a pass begins. For measurements of clocks.
    number : Out
        With ``begun``: position of the pass in the list of ``unit_passes`` for the unit's role.
    """

    def __init__(self, config, number):
        self.config, self.role = config, config.units[number]
        passes, _ = unit_passes(config, self.role)
        super().__init__(
            {
                "task": In(stream.Signature(unit_task(config))),
                "done": Out(1),
                "parameters": Out(read_port(ROW_WIDTH)),
                "features": Out(read_port(ROW_WIDTH)),
                "screens": Out(read_port(ROW_WIDTH)),
                "rollout": Out(write_port(ROW_WIDTH)),
                "outputs": Out(write_port(ROW_WIDTH)),
                "gradients": Out(stream.Signature(unsigned(ROW_WIDTH))),
                "begun": Out(1),
                "number": Out(range(max(2, len(passes)))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.schedule = schedule = Schedule(config, self.role)
        m.submodules.features = features = FeatureBuffer(config)
        m.submodules.parameters = parameters = ParameterBuffer(config)
        m.submodules.load = load = Load(config)
        m.submodules.store = store = Store(config)
        m.submodules.sweep = sweep = Sweep(config, schedule.table)
        m.submodules.drain = drain = Drain(config)
        connect(m, flipped(self.task), schedule.task)
        connect(m, schedule.loads, load.runs)
        connect(m, schedule.stores, store.runs)
        connect(m, schedule.segments, parameters.segments)
        connect(m, schedule.passes, parameters.passes)
        connect(m, parameters.read, flipped(self.parameters))
        connect(m, load.local, flipped(self.features))
        connect(m, load.host, flipped(self.screens))
        connect(m, store.local, flipped(self.rollout))
        connect(m, store.host, flipped(self.outputs))
        connect(m, drain.gradients, flipped(self.gradients))
        connect(m, load.o, features.writes[1])
        connect(m, store.request, features.reads[3].request)
        connect(m, features.reads[3].data, store.data)
        m.d.comb += [
            self.done.eq(schedule.done),
            self.begun.eq(schedule.start),
            self.number.eq(schedule.number),
            schedule.moved.eq(load.moved),
            schedule.stored.eq(store.stored),
            parameters.done.eq(schedule.parameters_done),
        ]
        self._lines(m, schedule, features, parameters, sweep, drain)
        self._sums(m, sweep, drain)
        written = self._scatter(m, schedule, features, drain)
        m.d.comb += [
            schedule.swept.eq(~sweep.busy),
            schedule.written.eq(written),
            schedule.drained.eq(sweep.drained & ~drain.busy),
        ]
        return m

    def _begin(self, m, schedule, *units):
        """Connects units that run loops to the pass that ``schedule`` begins."""
        for unit in units:
            m.d.comb += [
                unit.start.eq(schedule.start),
                unit.number.eq(schedule.number),
                unit.batch.eq(schedule.batch),
            ]

    def _lines(self, m, schedule, features, parameters, sweep, drain):
        """The way of lines and held rows to the sweeps."""
        m.submodules.fill = fill = Fill(self.config, schedule.table)
        m.submodules.held = held = HeldRows(self.config, schedule.table)
        m.submodules.line = line = LineBuffer(self.config)
        # The rows behind a row of biases must not wait until the group of the biases is drained.
        m.submodules.biases = biases = Queue(unsigned(ROW_WIDTH), _BIASES)
        self._begin(m, schedule, fill, held, sweep)
        connect(m, held.error_request, features.reads[0].request)
        connect(m, features.reads[0].data, held.errors)
        connect(m, fill.request, features.reads[2].request)
        connect(m, features.reads[2].data, fill.data)
        connect(m, held.parameter_request, parameters.request)
        connect(m, parameters.data, held.parameters)
        connect(m, held.o, sweep.rows)
        connect(m, held.biases, biases.i)
        connect(m, biases.o, drain.biases)
        connect(m, fill.o, line.i)
        m.d.comb += [
            fill.release.eq(sweep.line_release),
            line.release.eq(sweep.line_release),
            line.address.eq(sweep.line_address),
            line.wide.eq(sweep.line_wide),
            line.one.eq(sweep.line_one),
            sweep.line_full.eq(line.full),
        ]
        self.line = line

    def _sums(self, m, sweep, drain):
        """The way from the sweeps through the array to the output line of ``drain``."""
        m.submodules.array = array = PeArray(self.config)
        columns = PeArray.column_members(self.config)
        shared = ("row", "load", "swap", "slot", "first", "last", "half", "valid", *columns)
        connect(m, sweep.group, drain.group)
        m.d.comb += [
            array.words.eq(self.line.words),
            *(getattr(array, name).eq(getattr(sweep, name)) for name in shared),
            drain.sums.eq(array.sums),
            drain.place.eq(array.place),
            drain.done.eq(array.done),
            sweep.free.eq(drain.free),
        ]

    def _scatter(self, m, schedule, features, drain):
        """Outputs go to their places in the feature buffer; the errors that BW computes overwrite
        the features that mask them. Returns a signal: all rows of the pass are written.
        """
        table = [
            (number, p.drain) for number, p in enumerate(schedule.table) if p.drain is not None
        ]
        if not table:  # a unit that only trains a network of one layer has no outputs
            return C(1)
        nests = [drain_nest for _, drain_nest in table]
        loops = [Loops(nest.counts, ((nest.strides, nest.base),)) for nest in nests]
        m.submodules.places = places = LoopNest(loops, ("row",), self.config.samples)
        m.submodules.masks = masks = LoopNest(loops, ("row",), self.config.samples)
        scatters, masked = Signal(), Signal()
        with m.Switch(schedule.number):
            for position, (number, _) in enumerate(table):
                with m.Case(number):
                    m.d.comb += [
                        scatters.eq(1),
                        masked.eq(number >= schedule.training),
                        *(nest.number.eq(position) for nest in (places, masks)),
                    ]
        row, mask = features.writes[0], features.reads[1]
        m.d.comb += [
            places.start.eq(schedule.start & scatters),
            masks.start.eq(schedule.start & masked),
            places.batch.eq(schedule.batch),
            masks.batch.eq(schedule.batch),
            row.p.row.eq(places.o.p.row),
            row.p.data.eq(drain.o.payload),
            row.valid.eq(places.o.valid & drain.o.valid),
            places.o.ready.eq(row.ready & drain.o.valid),
            drain.o.ready.eq(row.ready & places.o.valid),
            mask.request.payload.eq(masks.o.p.row),
            mask.request.valid.eq(masks.o.valid),
            masks.o.ready.eq(mask.request.ready),
        ]
        connect(m, mask.data, drain.masks)
        return ~places.busy
