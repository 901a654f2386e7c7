"""The order of an iteration: a batch comes in, pass follows pass with the TD errors beside them,
then the update."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.plan import acting, plan

__all__ = ["Sequencer"]

#: Clocks without work before a pass counts as over: those between one unit and the next.
_QUIET = 3


class Sequencer(wiring.Component):
    """Runs the passes of an iteration, or those of an ACT, one after the other. Members without
    another word are high for one clock.

    Parameters
    ----------
    config : FixarConfig
    end : layout
        ``PassTable.END``.

    Members
    -------
    train, act, update : In(1), batch : In
        ``train``: begin an iteration with the loaded batch. ``act``: begin an ACT with the loaded
        observations. ``update``: the iteration may change parameters; it may come before the
        iteration waits for it. ``batch``: samples of the batch, steady.
    intake : Out(1), intake_done : In(1)
        ``intake``: bring the batch into the cells. ``intake_done``: it has come.
    samples, pairs : Out
        How many samples core 0 has, which is the most of any core, and how many pairs of samples,
        rounded up. Steady from ``intake_done`` on.
    number : Out, end : In
        The number of the pass for ``PassTable``, and what ``PassTable`` says about its end. Both
        are steady while the pass runs.
    start : Out(1), running : In(1)
        ``start``: the pass's walk begins. ``running``: high while a unit works on the pass.
    over : Out(1)
        The pass has ended, and all its numbers have been seen.
    errors : Out(1), errors_done : In(1)
        ``errors``: compute the TD errors. ``errors_done``: high once all are computed.
    trained : Out(1), decided : Out(1), updating : Out(1)
        ``trained``: high when all TD errors are computed, and so ``update`` is waited for, until
        the next ``intake``. ``decided``: all TD errors are computed, and the update was requested.
        ``updating``: high from ``update`` to the end of the last pass.
    answer : Out(1), answered : In(1)
        ``answer``: send the actions of an ACT. ``answered``: high when they have left.
    acting : Out(1)
        High while an ACT is under way, from the clock after ``act`` on.
    """

    def __init__(self, config, end):
        self.config, self.passes = config, len(plan(config))
        count = range(config.samples + 1)
        flags = ("train", "act", "update", "intake_done", "running", "errors_done", "answered")
        pulses = ("intake", "start", "over", "errors", "trained", "decided")
        pulses += ("updating", "answer", "acting")
        super().__init__(
            {
                **dict.fromkeys(flags, In(1)),
                **dict.fromkeys(pulses, Out(1)),
                "batch": In(range(config.batch + 1)),
                "samples": Out(count),
                "pairs": Out(count),
                "number": Out(range(self.passes)),
                "end": In(end),
            }
        )

    def elaborate(self, platform):
        m = Module()
        cores = self.config.cores
        counted = Signal(range(self.config.batch + cores + 1))
        quiet, wait = Signal(range(_QUIET + 1)), Signal(2)
        update = Signal()  # it was asked for, while passes beside the TD errors still ran
        m.d.comb += [
            self.intake.eq(self.train | self.act),
            self.pairs.eq((self.samples + 1) >> 1),
        ]
        with m.If(self.update):
            m.d.sync += [update.eq(1), self.updating.eq(1)]
        with m.If(self.intake):
            m.d.sync += [
                self.acting.eq(self.act),
                self.trained.eq(0),
                update.eq(0),
                self.samples.eq(0),
                counted.eq(0),
            ]
        m.d.sync += quiet.eq(Mux(self.running | self.start, _QUIET, Mux(quiet == 0, 0, quiet - 1)))

        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.intake):
                    m.next = "COUNT"
            with m.State("COUNT"):
                # Rounded up, one core's worth of samples a clock.
                m.d.sync += [counted.eq(counted + cores), self.samples.eq(self.samples + 1)]
                with m.If(counted + cores >= self.batch):
                    m.next = "INTAKE"
            with m.State("INTAKE"):
                m.d.sync += self.number.eq(Mux(self.acting, acting(self.config).start, 0))
                with m.If(self.intake_done):
                    m.next = "FETCH"
            with m.State("FETCH"):
                m.d.sync += wait.eq(wait + 1)
                with m.If(wait == 2):
                    m.d.sync += wait.eq(0)
                    m.next = "START"
            with m.State("START"):
                m.d.comb += self.start.eq(1)
                m.next = "RUN"
            with m.State("RUN"):
                with m.If(~self.running & (quiet == 0)):
                    m.next = "OVER"
            with m.State("OVER"):
                m.d.comb += [self.over.eq(1), self.errors.eq(self.end.observes & ~self.acting)]
                m.next = "NEXT"
                with m.If(self.end.decides):
                    m.next = "DECIDE"
                    with m.If(self.acting):
                        m.d.comb += self.answer.eq(1)
                        m.next = "ANSWER"
                with m.Elif(self.end.ends):
                    m.d.sync += self.updating.eq(0)
                    m.next = "IDLE"
            with m.State("NEXT"):
                m.d.sync += self.number.eq(self.number + 1)
                m.next = "FETCH"
            with m.State("DECIDE"):
                m.d.sync += self.trained.eq(self.errors_done & ~self.intake)
                with m.If(self.intake):  # what was trained is given up
                    m.next = "COUNT"
                with m.Elif(self.errors_done & (update | self.update)):
                    m.d.comb += self.decided.eq(1)
                    m.next = "NEXT"
            with m.State("ANSWER"):
                with m.If(self.answered):
                    m.d.sync += self.acting.eq(0)
                    m.next = "IDLE"
        return m
