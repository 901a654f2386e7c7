"""Clocks of each pass of an iteration, of the learner alone, in the RTL."""

from dataclasses import dataclass

from amaranth import Module, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.learner import FixarLearner
from hw.stream.queue import Queue
from sim.streams import StreamUnit

__all__ = ["Clocks", "PassClocks", "measure"]

_DATA_WIDTH = 512


class _What(enum.Enum, shape=2):
    """Kinds of events: the batch is told, a pass begins, a pass is over, the request is done."""

    INTAKE, START, OVER, END = range(4)


_EVENT = data.StructLayout({"what": _What, "clock": 30})


class _Watched(FixarLearner):
    """A learner that shows events of its sequencer."""

    def __init__(self, config):
        super().__init__(config, _DATA_WIDTH, ultra_ram=True)
        self.told, self.starts, self.passed = (
            Signal(name=name) for name in ("told", "starts", "passed")
        )

    def elaborate(self, platform):
        m = super().elaborate(platform)
        sequencer = self.sequencer
        m.d.comb += [
            self.told.eq(sequencer.intake),
            self.starts.eq(sequencer.start),
            self.passed.eq(sequencer.over),
        ]
        return m


def _request(config):
    flags = dict.fromkeys(("half_activations", "half_errors", "act"), 1)
    return data.StructLayout({"batch": range(config.batch + 1), **flags})


class PassClocks(wiring.Component):
    """FIXAR's learner on experiences of zeros, for measurements of its clocks.

    An item of ``request`` (batch size, precision, and ``act`` for actions instead of an iteration)
    begins one run. ``response`` has an item for each event of the run: its kind (the batch is told,
    a pass begins, a pass is over, the end) and its clock.
    """

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "request": In(stream.Signature(_request(config))),
                "response": Out(stream.Signature(_EVENT)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.learner = learner = _Watched(self.config)
        m.submodules.events = events = Queue(_EVENT, 128)
        wiring.connect(m, events.o, wiring.flipped(self.response))
        asked, control, clock = self.request, learner.control, Signal(30)
        end = Signal()
        m.d.sync += clock.eq(clock + 1)
        m.d.comb += [
            learner.batch.eq(asked.p.batch),
            learner.half_activations.eq(asked.p.half_activations),
            learner.half_errors.eq(asked.p.half_errors),
            learner.acting.eq(asked.p.act & asked.valid),
            learner.td.ready.eq(1),
            learner.actions.ready.eq(1),
            learner.records.valid.eq(asked.valid),
            asked.ready.eq(end),
            events.i.valid.eq(learner.told | learner.starts | learner.passed | end),
            events.i.p.clock.eq(clock),
        ]
        for flag, what in (
            (learner.told, _What.INTAKE),
            (learner.starts, _What.START),
            (learner.passed, _What.OVER),
            (end, _What.END),
        ):
            with m.If(flag):
                m.d.comb += events.i.p.what.eq(what)
        with m.FSM():
            with m.State("IDLE"):
                with m.If(asked.valid):
                    m.d.comb += control.begin.eq(1)
                    m.next = "LOAD"
            with m.State("LOAD"):
                m.next = "LOADED"
            with m.State("LOADED"):
                with m.If(control.loaded):
                    m.d.comb += [control.train.eq(~asked.p.act), learner.act.eq(asked.p.act)]
                    m.next = "TOLD"
            with m.State("TOLD"):
                m.next = "TRAIN"
                with m.If(asked.p.act):
                    m.next = "ACT"
            with m.State("TRAIN"):
                with m.If(control.trained):
                    m.d.comb += control.update.eq(1)
                    m.next = "UPDATE"
            with m.State("UPDATE"):
                m.next = "BUSY"
            with m.State("BUSY"):
                with m.If(~control.busy):
                    m.d.comb += end.eq(1)
                    m.next = "IDLE"
            with m.State("ACT"):
                # It ends when nothing has happened for 1023 clocks after the beats of actions.
                quiet = Signal(10)
                m.d.sync += quiet.eq(quiet + 1)
                with m.If(learner.starts | learner.passed | learner.actions.valid):
                    m.d.sync += quiet.eq(0)
                with m.Elif(quiet.all()):
                    m.d.comb += end.eq(1)
                    m.next = "IDLE"
        return m


@dataclass(frozen=True)
class Clocks:
    """Clocks of one iteration of the learner.

    ``intake``: from the start to the first pass. ``passes``: of each pass, from its start to its
    end. ``between``: from the end of each pass but the last to the start of the next. ``whole``:
    from the start to the end of the iteration.
    """

    intake: int
    passes: tuple
    between: tuple
    whole: int


def unit(config):
    """A ``StreamUnit`` for ``measure``."""
    return StreamUnit(PassClocks(config), name="fixar_passes")


def measure(unit, config, passes, *, batch, precision, act=False):
    """``Clocks`` of an iteration, or of actions if ``act``.

    ``unit`` is a ``StreamUnit`` of ``PassClocks`` with ``config``; ``passes`` is the number of
    passes that the iteration has, ``batch`` its samples, ``precision`` its ``Precision``.
    """
    request = _request(config).const(
        {
            "batch": batch,
            "half_activations": precision.activations,
            "half_errors": precision.errors,
            "act": act,
        }
    )
    count = 2 * passes + 2
    found, _ = unit.run([request.as_value().value], responses=count, max_idle=5_000_000)
    told, *events, end = [_EVENT.from_bits(word).clock for word in found]
    starts, overs = events[::2], events[1::2]
    return Clocks(
        intake=starts[0] - told,
        passes=tuple(over - start for start, over in zip(starts, overs, strict=True)),
        between=tuple(b - a for a, b in zip(overs, starts[1:], strict=False)),
        whole=end - told,
    )
