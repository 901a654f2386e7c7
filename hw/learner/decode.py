"""Decodes a command of the learner: what it moves, and whether it breaks a rule.

The outputs are right ``LATENCY`` clocks after ``raw``, and stay so with it.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.commands import COMMANDS, KINDS, LearnError, LearnOpcode, record_granules
from hw.replay.commands import GRANULE_BYTES, MAX_COUNT, MAX_GRANULES, MAX_TRANSFER, Error
from hw.shell.program import COMMAND_BYTES

__all__ = ["Decode"]


class Decode(wiring.Component):
    """Iteration k reads its STEP at ``source + 64 * k``, stores the experiences that begin at
    ``experiences + k * advance`` and writes its REPORT at ``destination + 64 * k``.

    ``advance`` is the bytes of ``inserts`` experiences, rounded up to 64, so that each iteration's
    begin on a beat. What SAMPLE and UPDATE can refuse (fill, empty, AXI) is found as they run.

    Parameters
    ----------
    config : LearnerKernelConfig

    Members
    -------
    raw : In(512)
        The command as in memory.
    capacity, granules : In
        Of the last SETUP.
    image_beats : In(24)
        Beats of the sections of the command's ``kinds``.
    operands_bytes, results_bytes : In(32)
    advance : Out(32)
    error : Out(32)
        Why the command as a whole is refused; of several reasons the first of the list below.
    """

    LATENCY = 3

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "raw": In(8 * COMMAND_BYTES),
                "capacity": In(range(config.replay.capacity + 1)),
                "granules": In(range(MAX_GRANULES + 1)),
                "image_beats": In(24),
                "operands_bytes": In(32),
                "results_bytes": In(32),
                "advance": Out(32),
                "error": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        learner = self.config.learner
        granules = record_granules(learner)
        head = data.View(COMMANDS[LearnOpcode.LEARN].shape, self.raw)
        image = data.View(COMMANDS[LearnOpcode.LOAD].shape, self.raw)
        is_learn, is_load, is_store = (
            Signal(name=f"is_{opcode.name.lower()}") for opcode in LearnOpcode
        )
        for signal, opcode in zip((is_learn, is_load, is_store), LearnOpcode, strict=True):
            m.d.comb += signal.eq(head.opcode == opcode.value)

        # Bytes of one iteration's experiences, then of all, then their end. Counts that the rules
        # below refuse may be cut on the way.
        count_width = MAX_COUNT.bit_length()
        run = Signal(range((granules * GRANULE_BYTES << count_width) + 1), reset_less=True)
        advance = Signal(len(run) + 1)
        every = Signal(count_width + len(advance), reset_less=True)
        end = Signal(len(every) + 1, reset_less=True)
        m.d.comb += [
            advance.eq(Cat(C(0, 6), run[6:] + run[:6].any())),
            self.advance.eq(advance),
        ]
        m.d.sync += [
            run.eq(head.inserts[:count_width] * (granules * GRANULE_BYTES)),
            every.eq(head.count[:count_width] * advance),
            end.eq(head.experiences + every),
        ]

        image_bytes = Signal(32)
        beat_shift = self.config.engine.beat_bytes.bit_length() - 1
        m.d.comb += image_bytes.eq(self.image_beats << beat_shift)

        def outside(offset, size, limit):
            return (offset[:6] != 0) | (offset + size > limit)

        steps = Signal(count_width + 6)  # bytes of all STEPs, of all REPORTs
        m.d.comb += steps.eq(head.count[:count_width] << 6)
        most_inserts = min(MAX_COUNT, MAX_TRANSFER // granules)
        lanes = learner.lanes.bit_length() - 1
        rules = [
            (is_learn & ((head.count == 0) | (head.count > MAX_COUNT)), Error.COUNT),
            (
                is_learn
                & (
                    (head.batch == 0)
                    | (head.batch > learner.batch)
                    | (head.batch[:lanes].any() if lanes else 0)
                ),
                LearnError.BATCH,
            ),
            (is_learn & (self.granules != granules), LearnError.RECORD),
            (
                is_learn & ((head.inserts > self.capacity) | (head.inserts > most_inserts)),
                Error.COUNT,
            ),
            (
                ~is_learn
                & (
                    (image.kinds == 0)
                    | (image.kinds[len(KINDS) :] != 0)
                    | (image.count != image_bytes)
                ),
                LearnError.IMAGE,
            ),
            (is_learn & outside(head.source, steps, self.operands_bytes), Error.OPERANDS),
            (
                is_learn
                & (head.inserts != 0)
                & ((head.experiences[:6] != 0) | (end > self.operands_bytes)),
                Error.OPERANDS,
            ),
            (is_load & outside(head.source, image_bytes, self.operands_bytes), Error.OPERANDS),
            (is_learn & outside(head.destination, steps, self.results_bytes), Error.RESULTS),
            (is_store & outside(head.destination, image_bytes, self.results_bytes), Error.RESULTS),
        ]
        for condition, code in reversed(rules):
            with m.If(condition):
                m.d.comb += self.error.eq(code)
        return m
