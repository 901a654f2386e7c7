"""hw.shell.decoder: what hardware says of a command is what the twin says.

Literal cases first, from what the small table says in words; then both against each other.
"""

import random
from itertools import product

import pytest
from amaranth import Const, Shape
from config_limits import far_config
from gae.slots import kernel_config as gae_config
from hypothesis import given, settings
from hypothesis import strategies as st
from learner.modelled import kernel_config as learner_config
from marks import long_but
from replay.kernels import NARROW, WIDE
from shell.decoder_cases import SIZE, Cases
from shell.small_table import CONFIG, STATE, TABLE, Small, buffers

from hw.designs import DESIGNS
from hw.gae.core import GaeCore
from hw.learner.core import LearnerCore
from hw.learner.parameters.parameter_image import set_bytes
from hw.learner.records import record_granules
from hw.replay.core import ReplayCore
from hw.shell.axi import engine_of
from hw.shell.errors import ShellError

NONE, OPCODE, OPERANDS, RESULTS, _, COUNT, FIELD, BUFFER, *_ = ShellError
QUIET = dict(fill=0, level=0, locked=0)
ALL = dict(operands=SIZE, results=SIZE, heap=SIZE, scratch=SIZE)

#: Command, fields, what else is not as usual; error and detail.
FIELDS = [
    (Small.PING, {}, {}, NONE, 0),
    (Small.PING, {}, dict(tail=1 << 383), FIELD, 16),
    (Small.PING, {}, dict(tail=1), FIELD, 16),
    (Small.PING, dict(count=1), {}, FIELD, 4),
    (Small.PING, dict(source=64), {}, FIELD, 8),
    (Small.PING, dict(destination=64), {}, FIELD, 12),
    (Small.PING, dict(count=1), dict(opcode=7), OPCODE, 0),
    (Small.PING, {}, dict(opcode=0), OPCODE, 0),
    (Small.PING, {}, dict(opcode=257), OPCODE, 0),
    (Small.LIMITS, dict(high=37), {}, NONE, 0),
    (Small.LIMITS, dict(high=38), {}, FIELD, 20),
    (Small.LIMITS, dict(low=2), {}, FIELD, 24),
    # A code of its own has no position.
    (Small.LIMITS, dict(both=1), {}, 20, 0),
    (Small.LIMITS, dict(both=10), {}, 20, 0),
    (Small.LIMITS, dict(signed=-5), {}, NONE, 0),
    (Small.LIMITS, dict(signed=-6), {}, FIELD, 32),
    (Small.LIMITS, dict(signed=7), {}, 23, 0),
    (Small.LIMITS, dict(signed=8), {}, FIELD, 32),
    (Small.LIMITS, dict(signed_low=-4), {}, NONE, 0),
    (Small.LIMITS, dict(signed_low=-5), {}, FIELD, 36),
    (Small.LIMITS, dict(signed_high=-2), {}, FIELD, 40),
    # The first field that is wrong; a field, what lies behind, a rule: in this order.
    (Small.LIMITS, dict(signed_high=0, high=99), {}, FIELD, 20),
    (Small.LIMITS, dict(signed_free=-9, free=0x1FE), {}, 21, 0xFE),
    (Small.LIMITS, dict(signed_free=-9, signed_low=-9), {}, FIELD, 36),
    (Small.LIMITS, dict(signed_free=-9), dict(tail=1), FIELD, 52),
    (Small.LIMITS, dict(signed_low=-9), dict(tail=1), FIELD, 36),
    # Numbers below 0 in rules: fields with a limit above alone, the state.
    (Small.LIMITS, dict(signed_high=-1000, signed_free=999, free=3), {}, 21, 3),
    (Small.LIMITS, dict(signed_high=-1000, signed_free=999, free=3), dict(level=-1), NONE, 0),
    (Small.LIMITS, dict(signed_low=101, both=9, high=5), {}, 22, 6),
    (Small.LIMITS, dict(signed_low=-1, both=9, high=5), {}, NONE, 0),
    (Small.WIDE, dict(low=4), {}, FIELD, 32),
    (Small.WIDE, dict(low=5, signed=-(1 << 40)), {}, NONE, 0),
    (Small.WIDE, dict(low=5, signed=-(1 << 40) - 1), {}, FIELD, 16),
    (Small.WIDE, dict(low=5, signed=(1 << 40) + 4), {}, FIELD, 16),
    (Small.WIDE, dict(low=5, signed=1, signed_free=2), {}, 25, 0),
    (Small.WIDE, dict(low=5, signed=1, signed_free=3), {}, NONE, 0),
    (Small.WIDE, dict(low=5, high=(1 << 33) + 3, pair=[9, 0]), {}, NONE, 0),
    (Small.WIDE, dict(low=5, high=(1 << 33) + 4), {}, FIELD, 24),
    (Small.WIDE, dict(low=5, pair=[0, 1 << 60]), {}, 24, 40),
    (Small.WIDE, dict(low=5, pair=[1 << 60, 0]), {}, NONE, 0),
    (Small.WIDE, dict(low=5, pair=[(1 << 33) - 7, 0], high=7), dict(fill=9), 26, 9),
    (Small.LOCK, dict(count=0), {}, COUNT, 0),
    (Small.LOCK, dict(count=37), {}, NONE, 0),
    (Small.LOCK, dict(count=38), {}, COUNT, 0),
    (Small.LOCK, dict(count=3), dict(locked=1), NONE, 0),
    (Small.LOCK, dict(count=4), dict(locked=1, level=-101), 28, 4),
    (Small.LOCK, dict(count=3), dict(locked=1, level=-101, fill=127), 29, 128),
    (Small.LOCK, dict(count=3), dict(level=-100), NONE, 0),
    # A rule comes before a buffer.
    (Small.LOCK, dict(count=4, source=1), dict(locked=1), 28, 4),
]
FINE = {
    Small.LIMITS: dict(low=3, both=2, signed_high=-3, signed_free=1000),
    Small.MOVE: dict(count=3, width=10, listed=1, list=64),
    Small.REACH: dict(count=1),
}
TOO_LONG = 1 << 24

#: Command, fields, sizes that are not the largest; error, and beats of 64 bytes (heap: 32).
PLACES = [
    (Small.MOVE, {}, {}, NONE, dict(source=1, list=1, destination=1, scratch=1)),
    (Small.MOVE, dict(count=6), {}, NONE, dict(source=2, list=1, destination=1, scratch=1)),
    (Small.MOVE, dict(count=9, listed=0), {}, NONE, dict(source=2, list=0, destination=2)),
    (Small.MOVE, dict(count=0), {}, NONE, dict(source=0, list=0, destination=0, scratch=0)),
    (Small.MOVE, dict(count=12, width=34), {}, 27, {}),
    # Two places in one buffer: each to the last byte.
    (Small.MOVE, dict(source=128), dict(operands=192), NONE, {}),
    (Small.MOVE, dict(source=128), dict(operands=191), OPERANDS, {}),
    (Small.MOVE, dict(list=128), dict(operands=192), NONE, {}),
    (Small.MOVE, dict(list=128), dict(operands=191), OPERANDS, {}),
    (Small.MOVE, dict(source=32), {}, OPERANDS, {}),
    (Small.MOVE, dict(list=63), {}, OPERANDS, {}),
    # Of nothing the offset must be right all the same.
    (Small.MOVE, dict(listed=0, list=32), {}, OPERANDS, {}),
    (Small.MOVE, dict(listed=0, list=128), dict(operands=128), NONE, dict(list=0)),
    (Small.MOVE, dict(listed=0, list=192), dict(operands=128), OPERANDS, {}),
    # An end of 2**32 and more is not small.
    (Small.MOVE, dict(source=(1 << 32) - 64), {}, OPERANDS, {}),
    (Small.MOVE, dict(destination=64), dict(results=127), RESULTS, {}),
    (Small.MOVE, dict(destination=64), dict(results=128), NONE, {}),
    (Small.MOVE, dict(destination=1), {}, RESULTS, {}),
    (Small.MOVE, {}, dict(scratch=15), BUFFER, {}),
    (Small.MOVE, {}, dict(scratch=16), NONE, {}),
    # The first of several, in the order in which the table knows them.
    (Small.MOVE, {}, dict(operands=0, results=0, scratch=0), OPERANDS, {}),
    (Small.MOVE, {}, dict(results=0, scratch=0), RESULTS, {}),
    (Small.REACH, dict(pages=1), dict(results=0, heap=0), RESULTS, {}),
    (Small.REACH, dict(count=TOO_LONG, source=1), {}, OPERANDS, {}),
    (Small.REACH, dict(count=TOO_LONG - 1), {}, NONE, dict(destination=TOO_LONG - 1)),
    (Small.REACH, dict(count=TOO_LONG), {}, COUNT, {}),
    (Small.REACH, dict(count=TOO_LONG), dict(results=0), COUNT, {}),
    (Small.REACH, dict(count=1 << 25), {}, COUNT, {}),
    (Small.REACH, dict(span=64 * (TOO_LONG - 1)), {}, NONE, dict(source=TOO_LONG - 1)),
    (Small.REACH, dict(span=64 * (TOO_LONG - 1) + 1), {}, COUNT, {}),
    # Pages of 4096 bytes.
    (Small.REACH, dict(pages=1), dict(heap=1), NONE, dict(heap=127)),
    (Small.REACH, dict(pages=2), dict(heap=1), BUFFER, {}),
    (Small.REACH, dict(pages=0), dict(heap=0), NONE, dict(heap=0)),
    (Small.REACH, dict(pages=1 << 17), dict(heap=1 << 17), NONE, dict(heap=TOO_LONG - 1)),
    (Small.REACH, dict(pages=1 << 30), dict(heap=1 << 30), NONE, {}),
    (Small.REACH, dict(pages=1 << 30), dict(heap=(1 << 30) - 1), BUFFER, {}),
]


#: What the rules 26 and 27 look for.
RARE = dict(high=[7], pair=[(1 << 33) - 7], count=[12], width=[34])


def small(beat_bytes=64):
    return Cases(TABLE, CONFIG, STATE, buffers(beat_bytes), RARE)


def test_literal(simulate, tmp_path):
    """Worked out by hand, on both sides."""
    cases = small()
    for opcode, fields, others, error, detail in FIELDS:
        others = dict(others)
        extra = {name: others.pop(name) for name in ("tail", "opcode") if name in others}
        raw = cases.bits(TABLE[opcode], FINE.get(opcode, {}) | fields, **extra)
        got = cases.add(raw, QUIET | others, ALL)
        assert (got.error, got.detail) == (error, detail), (opcode, fields, others)
    for opcode, fields, sizes, error, beats in PLACES:
        raw = cases.bits(TABLE[opcode], FINE.get(opcode, {}) | fields)
        got = cases.add(raw, QUIET, ALL | sizes)
        assert (got.error, got.detail) == (error, 0), (opcode, fields, sizes)
        assert beats == {name: got.beats[name] for name in beats}, (opcode, fields)
    cases.run(simulate, tmp_path)


def check(cases, simulate, directory):
    """All corners, then anything that there is a reason for."""
    quiet, largest = {name: 0 for name, _ in cases.state}, dict.fromkeys(cases.buffers, SIZE)
    for raw in cases.corners():
        cases.add(raw, quiet, largest)
    cases.fill(random.Random(1))
    cases.run(simulate, directory)


@pytest.mark.parametrize("beat_bytes", long_but([64], [64, 16]))
def test_small(simulate, tmp_path, beat_bytes):
    """Any commands, and those that hypothesis would look for."""
    cases = small(beat_bytes)

    @settings(max_examples=100, derandomize=True, database=None, deadline=None)
    @given(st.randoms())
    def collect(rng):
        cases.add(*cases.random(rng))

    collect()
    check(cases, simulate, tmp_path)


LEARNER = learner_config("dqn")
USUAL = dict(
    granules=[record_granules(LEARNER.learner)],
    missing=[0],
    batch=[2, 4, 16],
    count=[k * set_bytes(LEARNER.learner) for k in range(1, 5)],
    inserts=[0, 1, 5],
)
ENDS = {"smallest": False, "largest": True}
#: Cores of kernels, and numbers without which hardly a command is fine.
CORES = {
    "replay": (lambda: ReplayCore(WIDE), {}),
    "replay, narrow": (lambda: ReplayCore(NARROW), {}),
    "gae": (lambda: GaeCore(gae_config(128, rows=19, code_width=8)), {}),
    "gae, words": (lambda: GaeCore(gae_config(512, rows=8, code_width=32)), {}),
    "learner": (lambda: LearnerCore(LEARNER), USUAL),
}


def cases_of(core, usual=()):
    """Cases of the table of a core."""
    places = {buffer for buffer, _ in core.table.footprints.values()}
    declared = {
        buffer.name: (buffer, engine_of(core.config, buffer.master).beat_bytes)
        for buffer in core.buffers
        if buffer.name in places
    }
    return Cases(core.table, core.config, core.state_layout(core.config), declared, usual)


@pytest.mark.parametrize("name", long_but(["replay", "gae, words", "learner"], CORES))
def test_real(simulate, tmp_path, name):
    """The tables of the kernels, with any state."""
    make, usual = CORES[name]
    check(cases_of(make(), usual), simulate, tmp_path)


@pytest.mark.parametrize(
    "name, end",
    long_but(
        [("replay", "largest"), ("gae", "largest"), ("fixar", "largest"), ("a3c", "smallest")],
        list(product(DESIGNS, ENDS)),
    ),
)
def test_ends_of_config_and_command(simulate, tmp_path, name, end):
    """Each field of each command at its limits and beyond, where all fields of the config are at
    an end; the state is 0 or all ones, and buffers have no room or the most."""
    cases = cases_of(DESIGNS[name].core(far_config(name, up=ENDS[end])))
    for raw in cases.corners():
        for ones, size in ((0, SIZE), (-1, SIZE), (0, 0)):
            state = {
                member: Const(ones, Shape.cast(field.shape)).value for member, field in cases.state
            }
            cases.add(raw, state, dict.fromkeys(cases.buffers, size))
    assert any(not error for _, error in cases.seen)
    cases.run(simulate, tmp_path)
