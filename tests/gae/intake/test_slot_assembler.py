"""hw.gae.intake.slot_assembler: slots from beats of numbers and of codes, whatever waits."""

import random

from clocks import Clocks, run_together
from gae.slots import CONFIGS, beat_order, kernel_config, packed, slot_word
from paces import PACES, pace

from hw.gae.commands import Opcode
from hw.gae.intake.beat_counter import Plane, beat_layout
from hw.gae.intake.slot_assembler import SlotAssembler


class Slots:
    """Clocks of ``SlotAssembler``: whether a beat is there, and whether what leaves is taken."""

    def __init__(self, config):
        self.config, self.clocks, self.rng = config, Clocks(), random.Random(5)
        self.waiting = None  # the slot on ``o``

    def command(self, opcode, count, offers, takes):
        gae, size = self.config.gae, self.config.engine.beat_bytes
        limit = gae.code_limit
        is_codes = opcode == Opcode.PUSH_CODES
        for slot in range(count):
            kinds = [self.rng.randrange(4) for _ in range(gae.rows)]
            rewards, values = (
                [self.rng.choice([-limit, -1, 0, 1, limit]) for _ in range(gae.rows)] for _ in "rv"
            )
            planes = {Plane.KINDS: kinds, Plane.REWARDS: rewards, Plane.VALUES: values}
            for plane, row, ends_slot in beat_order(self.config, opcode):
                last = ends_slot and slot == count - 1
                here = planes[plane][row:]
                inputs = dict(
                    beat=beat_layout(gae.rows)
                    .const(dict(plane=plane, row=row, ends_slot=ends_slot, last=last))
                    .as_value()
                    .value,
                    kinds=self._padded(here if plane == Plane.KINDS else [], size, 2),
                    codes=self._codes([] if plane == Plane.KINDS else here, is_codes),
                    numbers=not is_codes,
                )
                while not next(offers):
                    self._clock(takes, step=0, **inputs)
                while not self._clock(takes, step=1, **inputs):
                    pass
                if ends_slot:
                    self.waiting = slot_word(gae, kinds, rewards, values)

    def _padded(self, elements, count, width):
        """``elements`` and then anything, ``count`` in all."""
        words = [*elements, *(self.rng.getrandbits(width) for _ in range(count))]
        return packed(words[:count], width)

    def _codes(self, here, is_codes):
        width, size = self.config.gae.code_width, self.config.engine.beat_bytes
        count = 8 * size // width
        if is_codes:
            return self._padded(here, count, width)
        lanes = size // 4
        once = self._padded(here, lanes, width)
        return sum(once << k * lanes * width for k in range(count // lanes))

    def _clock(self, takes, **inputs):
        """One more, with ``advance`` and ``o`` as they must be; returns whether it advanced."""
        taken, waiting = next(takes), self.waiting
        advance = taken or waiting is None
        clock = self.clocks.add(o__ready=taken, **inputs)
        self.clocks.expect(clock, advance=advance, o__valid=waiting is not None)
        if waiting is not None:
            self.clocks.expect(clock, o__payload=waiting)
        if taken:
            self.waiting = None
        return advance

    def ended(self):
        """A case of ``run_together``."""
        while self.waiting is not None:
            self._clock(pace("steady", self.rng))
        self._clock(pace("steady", self.rng))
        return self.clocks, SlotAssembler(self.config.gae, self.config.engine.beat_bytes)


#: Slots of a command, and config: 16 rows fill the last beat of every plane.
SHAPES = [
    (4, CONFIGS["1 row"]),
    (4, CONFIGS["8 rows"]),
    (4, dict(data_width=128, rows=16, code_width=8)),
    (2, CONFIGS["19 rows"]),
    (1, CONFIGS["33 rows"]),
]


def test_collect(simulate, tmp_path):
    """Every pace of beats with every pace of slots; what pads a plane is anything."""
    cases = {f"{values['rows']} rows": collected(rounds, values) for rounds, values in SHAPES}
    run_together(simulate, tmp_path, cases)


def collected(rounds, values):
    slots = Slots(kernel_config(**values))
    for offered in PACES:
        for taken in PACES:
            offers, takes = pace(offered, random.Random(6)), pace(taken, random.Random(7))
            for opcode in (Opcode.PUSH, Opcode.PUSH_CODES):
                slots.command(opcode, rounds, offers, takes)
    return slots.ended()


def test_a_slot_leaves_in_the_clock_after_its_last_beat(simulate, tmp_path):
    """Without gaps a slot of 4 + 4 rows takes 3 or 5 beats, and the next begins at once."""
    config = kernel_config(128, rows=8, code_width=8)
    clocks, word, count = Clocks(), slot_word(config.gae, [3] * 8, [-1] * 8, [-1] * 8), 4
    for opcode, beats in ((Opcode.PUSH_CODES, 3), (Opcode.PUSH, 5)):
        for slot in range(count):
            for k, (plane, row, ends_slot) in enumerate(beat_order(config, opcode)):
                beat = beat_layout(8).const(dict(plane=plane, row=row, ends_slot=ends_slot))
                clock = clocks.add(
                    step=1,
                    beat=beat.as_value().value,
                    kinds=(1 << 32) - 1,
                    codes=(1 << 128) - 1,
                    numbers=opcode == Opcode.PUSH,
                    o__ready=1,
                )
                leaves = k == 0 and slot > 0
                if slot > 0:
                    clocks.expect(clock, advance=1, o__valid=leaves)
                if leaves:
                    clocks.expect(clock, o__payload=word)
            assert k + 1 == beats
        clocks.expect(clocks.add(o__ready=1), o__valid=1, o__payload=word)
    clocks.run(simulate, SlotAssembler(config.gae, 16), tmp_path)
