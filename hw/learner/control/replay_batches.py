"""The commands that LEARN gives the replay core: SAMPLE draws a batch; UPDATE and INSERT follow its
training."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.commands import COMMANDS, LearnOpcode
from hw.replay.commands import Opcode
from hw.replay.records import ITEM, Error
from hw.shell.command import round_up
from hw.shell.program import COMMAND_BYTES, OUTCOME

__all__ = ["ReplayBatches"]


class ReplayBatches(wiring.Component):
    """Makes three commands of the replay core for each iteration of the LEARN ``raw``.

    Members
    -------
    start : In(1), raw : In(512)
        The LEARN begins; its fields are steady until it ends.
    run : In(32)
        Bytes of the experiences that an iteration stores.
    draw : In(1), beta : In(32)
        ``draw``: give SAMPLE, whose own limits check all bits of ``beta``. ``beta`` is steady until
        ``done``.
    give : In(1)
        Give UPDATE with the TD errors of a batch, then INSERT, if there is something to store.
    done : Out(1), error, detail : Out(32)
        ``done`` is a pulse: what was asked for last has ended, with this error (0: none).
    drawing, giving : Out(1)
        A SAMPLE is under way; an UPDATE is under way.
    command, outcome : streams
        Of the replay core.
    """

    def __init__(self):
        super().__init__(
            {
                "start": In(1),
                "raw": In(8 * COMMAND_BYTES),
                "run": In(32),
                "draw": In(1),
                "beta": In(32),
                "give": In(1),
                "done": Out(1),
                "error": Out(32),
                "detail": Out(32),
                "drawing": Out(1),
                "giving": Out(1),
                "command": Out(stream.Signature(unsigned(8 * COMMAND_BYTES))),
                "outcome": In(stream.Signature(OUTCOME)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        learn = data.View(COMMANDS[LearnOpcode.LEARN].shape, self.raw)
        experiences, priorities = Signal(32), Signal(32)
        outcome, failed = self.outcome, Signal()
        m.d.comb += [
            self.error.eq(outcome.p.error),
            self.detail.eq(outcome.p.detail),
            failed.eq(outcome.p.error != Error.NONE),
        ]
        with m.If(self.start):
            m.d.sync += [experiences.eq(learn.experiences), priorities.eq(learn.priorities)]
        weighing = dict(alpha=learn.alpha, epsilon=learn.epsilon)
        with m.FSM() as fsm:
            m.d.comb += [
                self.drawing.eq(fsm.ongoing("SAMPLE") | fsm.ongoing("SAMPLED")),
                self.giving.eq(fsm.ongoing("UPDATE") | fsm.ongoing("UPDATED")),
            ]
            with m.State("IDLE"):
                with m.If(self.draw):
                    m.next = "SAMPLE"
                with m.Elif(self.give):
                    m.next = "UPDATE"
            with m.State("SAMPLE"):
                width = learn.stratum_width
                self._ask(m, Opcode.SAMPLE, count=learn.batch, stratum_width=width, beta=self.beta)
            with m.State("SAMPLED"):
                m.d.comb += [outcome.ready.eq(1), self.done.eq(outcome.valid)]
                with m.If(outcome.valid):
                    m.next = "IDLE"
            with m.State("UPDATE"):
                self._ask(m, Opcode.UPDATE, count=learn.batch, **weighing)
            with m.State("UPDATED"):
                m.d.comb += outcome.ready.eq(1)
                with m.If(outcome.valid):
                    m.next = "INSERT"
                    with m.If(failed | (learn.inserts == 0)):
                        m.d.comb += self.done.eq(1)
                        m.next = "IDLE"
            with m.State("INSERT"):
                self._ask(
                    m,
                    Opcode.INSERT,
                    count=learn.inserts,
                    source=experiences,
                    given=learn.given,
                    priorities=priorities,
                    **weighing,
                )
            with m.State("INSERTED"):
                m.d.comb += [outcome.ready.eq(1), self.done.eq(outcome.valid)]
                with m.If(outcome.valid):
                    m.d.sync += [
                        experiences.eq(experiences + round_up(self.run, 64)),
                        priorities.eq(priorities + round_up(learn.inserts * ITEM.size, 64)),
                    ]
                    m.next = "IDLE"
        return m

    def _ask(self, m, opcode, **fields):
        """Gives a command to the replay core, and makes the state that waits for its end."""
        payload = COMMANDS[opcode].encode(opcode=C(opcode.value, 32), **fields)
        m.d.comb += [self.command.valid.eq(1), self.command.payload.eq(payload)]
        with m.If(self.command.ready):
            name = opcode.name
            m.next = f"{name}D" if name.endswith("E") else f"{name}ED"
