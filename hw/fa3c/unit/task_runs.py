"""The runs of rows that a task needs: those that a unit loads into its feature buffer, and those
that it stores."""

from itertools import accumulate

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.layouts import unit_task
from hw.fa3c.records import AGENTS
from hw.fa3c.rows import ROW_BYTES
from hw.fa3c.unit.mover import run_layout

__all__ = ["LoadRuns", "StoreRuns"]


def _map_runs(m, unit, layer, place, sample, agent, step):
    """Adds the states "ADDRESS" and "RUN" to an FSM; the state "MAP" follows them.

    They send the inputs of ``layer`` as ``unit.runs``, one run for each sample of the task, which
    ``sample`` counts from 0. The caller sets ``place`` to the row of the first sample before.
    ``agent`` and ``step`` name the step of a rollout that has this sample. Returns ``map_taken``:
    the last run was taken.
    """
    config, out, task = unit.config, unit.runs, unit.task
    *sizes, _ = config.map_rows
    in_step = accumulate(sizes[:-1], initial=0)
    row, map_taken = Signal(range(config.local_rows)), Signal()
    rows = Signal(range(max(sizes) + 1))
    m.d.comb += rows.eq(Array(sizes)[layer])
    with m.State("ADDRESS"):
        m.d.sync += row.eq(config.rollout_row(agent, step) + Array(in_step)[layer])
        m.next = "RUN"
    with m.State("RUN"):
        m.d.comb += [
            out.valid.eq(1),
            out.p.place.eq(place),
            out.p.rows.eq(rows),
            out.p.address.eq(row * ROW_BYTES),
        ]
        with m.If(out.ready):
            m.d.sync += [place.eq(place + rows), sample.eq(sample + 1)]
            m.next = "ADDRESS"
            with m.If(sample == task.count - 1):
                m.d.comb += map_taken.eq(1)
                m.d.sync += sample.eq(0)
                m.next = "MAP"
    return map_taken


class LoadRuns(wiring.Component):
    """The runs that a task loads.

    The first run comes from the host: the observations of an INFER, or the errors of a TRAIN. A
    TRAIN then loads the maps of its rollout, the inputs of the last layer first, since training
    begins there.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    begin : In(1)
        One clock: a task begins.
    task : In(unit_task(config))
        The task, from the clock after ``begin`` on.
    runs : Out(stream of run_layout(config))
        Runs for ``mover.Load``.
    moved : In(1)
        One clock for each run, in order: its rows are in the feature buffer.
    loaded : Out
        Number of maps that are loaded, for all samples of the task: the one from the host, then, in
        a TRAIN, one for each layer. 0 from the clock after ``begin`` on.
    """

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "begin": In(1),
                "task": In(unit_task(config)),
                "runs": Out(stream.Signature(run_layout(config))),
                "moved": In(1),
                "loaded": Out(range(len(config.layers) + 2)),
            }
        )

    def elaborate(self, platform):
        config, out, task = self.config, self.runs, self.task
        m = Module()
        layers = len(config.layers)
        left, layer = (
            Signal(range(layers + 1)),
            Signal(range(layers)),
        )  # maps to load; the layer of the next one
        place, sample = Signal(range(config.feature_rows + 1)), Signal(range(config.samples))
        moves = Signal(range(config.samples + 1))
        m.d.comb += layer.eq(left - 1)
        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.begin):
                    m.next = "HOST"
            with m.State("HOST"):
                errors, inputs = config.map_rows[-1], config.map_rows[0]
                m.d.comb += [
                    out.valid.eq(1),
                    out.p.host.eq(1),
                    out.p.address.eq(task.operands),
                    out.p.place.eq(Mux(task.train, config.map_bases[-1], config.map_bases[0])),
                    out.p.rows.eq(Mux(task.train, task.count * errors, task.count * inputs)),
                ]
                m.d.sync += left.eq(layers)
                with m.If(out.ready):
                    m.next = "IDLE"
                    with m.If(task.train):
                        m.next = "MAP"
            with m.State("MAP"):
                m.d.sync += place.eq(Array(config.map_bases[:-1])[layer])
                m.next = "ADDRESS"
                with m.If(left == 0):
                    m.next = "IDLE"
            map_taken = _map_runs(m, self, layer, place, sample, task.agents[0], step=sample)
        with m.If(map_taken):
            m.d.sync += left.eq(left - 1)
        # The first run is a whole map; later, ``count`` runs are a map.
        with m.If(self.begin):
            m.d.sync += [self.loaded.eq(0), moves.eq(0)]
        with m.Elif(self.moved):
            m.d.sync += moves.eq(moves + 1)
            with m.If((self.loaded == 0) | (moves == task.count - 1)):
                m.d.sync += [self.loaded.eq(self.loaded + 1), moves.eq(0)]
        return m


class StoreRuns(wiring.Component):
    """The runs that an INFER stores.

    As soon as the inputs of a layer are there, they go to the rollouts of the agents, except for a
    bootstrap. At the end the outputs go to the host.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    begin : In(1)
        One clock: an INFER begins.
    task : In(unit_task(config))
        The task, from the clock after ``begin`` on.
    loaded : In
        Not 0: the observations are in the feature buffer.
    made : In
        Number of layers whose outputs are in the feature buffer.
    runs : Out(stream of run_layout(config))
        Runs for ``mover.Store``.
    stored : In(1)
        One clock for each run: memory has acknowledged it.
    kept : Out(1)
        No run is left to send or under way.
    """

    def __init__(self, config):
        self.config = config
        layers = len(config.layers)
        super().__init__(
            {
                "begin": In(1),
                "task": In(unit_task(config)),
                "loaded": In(range(layers + 2)),
                "made": In(range(2 * layers)),
                "runs": Out(stream.Signature(run_layout(config))),
                "stored": In(1),
                "kept": Out(1),
            }
        )

    def elaborate(self, platform):
        config, out, task = self.config, self.runs, self.task
        m = Module()
        layers = len(config.layers)
        layer = Signal(range(layers + 1))
        place, sample = Signal(range(config.feature_rows + 1)), Signal(range(config.samples))
        agent = task.agents[sample[: (AGENTS - 1).bit_length()]]
        waiting = Signal(range(config.samples * layers + 2))
        issue, idle = Signal(), Signal()
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += idle.eq(~self.begin)
                m.d.sync += layer.eq(0)
                with m.If(self.begin):
                    m.next = "MAP"
            with m.State("MAP"):
                m.d.sync += place.eq(Array(config.map_bases[:-1])[layer])
                with m.If(layer == layers):
                    with m.If(self.made == layers):
                        m.next = "HOST"
                with m.Elif(task.step == config.steps):
                    m.d.sync += layer.eq(layers)
                with m.Elif((self.loaded != 0) & (self.made >= layer)):
                    m.next = "ADDRESS"
            map_taken = _map_runs(m, self, layer, place, sample, agent, task.step)
            with m.State("HOST"):
                m.d.comb += [
                    out.valid.eq(1),
                    out.p.host.eq(1),
                    out.p.place.eq(config.map_bases[-1]),
                    out.p.rows.eq(task.count * config.map_rows[-1]),
                    out.p.address.eq(task.results),
                ]
                with m.If(out.ready):
                    m.next = "IDLE"
        with m.If(map_taken):
            m.d.sync += layer.eq(layer + 1)
        m.d.comb += [issue.eq(out.valid & out.ready), self.kept.eq(idle & (waiting == 0))]
        m.d.sync += waiting.eq(waiting + issue - self.stored)
        return m
