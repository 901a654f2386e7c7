"""host.programs.launcher on the simulated cards: what a launch carries, returns and refuses."""

import re
import struct
from dataclasses import replace

import numpy as np
import pytest
from replay.kernels import NARROW, WIDE, opened

import boards
from host.cards import CardTimeout
from host.programs.encoder import encode
from host.programs.launcher import CommandError, Launcher, aligned
from hw.designs import DESIGNS
from hw.errors import UsageError
from hw.gae.commands import Opcode as GaeOpcode
from hw.gae.config import GaeConfig, GaeKernelConfig
from hw.replay.commands import Opcode
from hw.replay.records import HEADER, ITEM

GRANULE = 16
CARDS = pytest.mark.parametrize("card", ["model", "sim"])


def launcher(kernel, **options):
    return Launcher(kernel, pointers={"storage": kernel.buffer("storage", 4096)}, **options)


def setup(granules=1):
    return Opcode.SETUP, {"capacity": 20, "granules": granules, "priority": 5}


@pytest.mark.parametrize("size, whole", [(0, 0), (1, 64), (64, 64), (65, 128)])
def test_aligned(size, whole):
    assert aligned(size) == whole
    assert aligned(size, 1) == size


def test_a_launch_that_does_not_end_says_of_which_commands_it_was(monkeypatch):
    """user, polish: CardTimeout named the channel that stands still, but no command."""
    with opened("model", NARROW) as kernel:
        launch = launcher(kernel)

        def stands(**_):
            raise CardTimeout("launch must end, not stand still")

        monkeypatch.setattr(kernel, "launch", stands)
        with pytest.raises(CardTimeout) as caught:
            launch.run([setup(), *[(Opcode.INSERT, {"count": 1})] * 3])
    assert caught.value.__notes__ == ["the launch was of the commands SETUP, 3 x INSERT"]


@CARDS
def test_operands_go_to_their_offsets_and_results_come_back(card):
    with opened(card, NARROW) as kernel:
        launch = launcher(kernel)
        records = np.arange(4 * GRANULE, dtype=np.uint8).reshape(4, GRANULE)
        items = np.array([(2, 9), (0, 0)], ITEM.dtype)
        results = launch.run(
            [
                setup(),
                (Opcode.INSERT, {"count": 4, "source": 128}),
                (Opcode.GET, {"count": 2, "source": 0, "destination": 64}),
                (Opcode.FIND, {"count": 1, "source": 64}),
            ],
            [(128, records), (0, items), (64, np.array([7], np.uint64))],
            96,
        )
        headers = results[64:].view(HEADER.dtype)
        assert headers["index"].tolist() == [2, 0] and headers["priority"].tolist() == [5, 5]
        assert results[:16].view(HEADER.dtype)["index"] == 1
        assert results[16:32].tolist() == records[1].tolist()
        assert launch.status["fill"] == 4 and launch.status["total"] == 20
        # Nothing asked for, nothing returned; the memory is as before.
        assert launch.run([]).size == 0
        assert launch.status["fill"] == 4
        assert launch.launches == 2
        assert launch.cycles is None if card == "model" else launch.cycles > 0


@CARDS
def test_buffers_grow_with_the_program(card):
    """A launch larger than all before it, then a small one that reuses its buffers."""
    with opened(card, NARROW) as kernel:
        launch = launcher(kernel)
        program = [setup(), (Opcode.INSERT, {"count": 20})]
        items = np.zeros(2000, ITEM.dtype)
        items["index"], items["value"] = np.arange(2000) % 20, np.arange(2000)
        program += [(Opcode.SET, {"count": 20, "source": 64 * (k % 7)}) for k in range(100)]
        program.append((Opcode.GET, {"count": 2000}))
        results = launch.run(program, [(0, items)], 2000 * HEADER.size)
        assert results.view(HEADER.dtype)["index"].tolist() == items["index"].tolist()
        results = launch.run([(Opcode.GET, {"count": 3})], [(0, items[5:8])], 48)
        assert results.view(HEADER.dtype)["index"].tolist() == [5, 6, 7]


@CARDS
def test_command_error_says_which_and_why(card):
    with opened(card, NARROW) as kernel:
        launch = launcher(kernel)
        items = np.array([(0, 1), (19, 1), (3, 2)], ITEM.dtype)
        with pytest.raises(
            CommandError,
            match=(
                r"^command 2 \(SET\) must be valid, not index: an index is not below fill; that "
                r"item was left out \(item 1\)$"
            ),
        ) as caught:
            launch.run(
                [setup(), (Opcode.INSERT, {"count": 5}), (Opcode.SET, {"count": 3})],
                [(0, np.concatenate([items.view(np.uint8), np.zeros(80, np.uint8)]))],
            )
        error = caught.value
        assert (error.code, error.name, error.command, error.detail) == (19, "index", 2, 1)
        # What came before it holds, and the memory goes on.
        assert launch.status["fill"] == 5 and launch.status["total"] == 1 + 2 + 3 * 5
        launch.run([(Opcode.SET, {"count": 1})], [(0, items[:1])])
        # A table of another version has no such code.
        old = launcher(kernel, design=replace(DESIGNS["replay"], errors={}))
        with pytest.raises(CommandError, match="not unknown: error 21 of another version"):
            old.run([(Opcode.UPDATE, {"count": 1})], [(0, np.array([(0, 0x7F800000)], ITEM.dtype))])


GAE = GaeKernelConfig(gae=GaeConfig(rows=8, depth=16))
U32 = r"in 0\.\.4294967295"
#: Fields without a default.
SAMPLE, SETUP = dict(count=1, stratum_width=0), dict(capacity=2, granules=0, priority=1)
RESTORE = dict(position=0, fill=0, maximum=0)
_PUSH = dict(exponent=0, mean=0, factor=0, shift=1)
PUSH = {f"{kind}_{name}": n for kind in ("reward", "value") for name, n in _PUSH.items()}
PUSH["count"] = 1


def encoded(opcode, values, config=NARROW):
    """The 64 bytes of a command of the design that ``config`` is of."""
    design = DESIGNS["gae" if config is GAE else "replay"]
    (row,) = encode(design.commands, [(opcode, values)], config)
    return row.tobytes()


@pytest.mark.parametrize(
    "opcode, values, expected",
    [
        (Opcode.SAMPLE, dict(count=65535, stratum_width=1 << 48, beta=65535, destination=64),
         struct.pack("<4IQI", 7, 65535, 0, 64, 1 << 48, 65535)),
        (Opcode.SAMPLE, dict(count=np.uint16(1), stratum_width=0, beta=np.int64(0)),
         struct.pack("<4IQI", 7, 1, 0, 0, 0, 0)),
        (Opcode.SETUP, dict(capacity=37, granules=4095, priority=65535),
         struct.pack("<7I", 1, 0, 0, 0, 37, 4095, 65535)),
        (Opcode.SETUP, SETUP, struct.pack("<7I", 1, 0, 0, 0, 2, 0, 1)),
        (Opcode.SEED, dict(state=np.array([1, 0, 2, (1 << 64) - 1], np.uint64)),
         struct.pack("<4I4Q", 2, 0, 0, 0, 1, 0, 2, (1 << 64) - 1)),
        *((Opcode.SEED, dict(state=kind([1, 0, 2, (1 << 64) - 1])),
           struct.pack("<4I4Q", 2, 0, 0, 0, 1, 0, 2, (1 << 64) - 1))
          for kind in (list, tuple, lambda given: [*map(np.uint64, given)])),
        (Opcode.SEED, dict(state=np.array([True, 0, 3, 4], np.uint8)),
         struct.pack("<4I4Q", 2, 0, 0, 0, 1, 0, 3, 4)),
        (Opcode.INSERT, dict(count=3), struct.pack("<12I", 4, 3, *[0] * 10)),
        (GaeOpcode.STATISTICS, dict(count=1, reward_exponent=2, value_exponent=-2),
         struct.pack("<4IQqQQii", 2, 1, 0, 0, 0, 0, 0, 0, 2, -2)),
        (GaeOpcode.STATISTICS,
         dict(count=1, prior_sum=-5, prior_squares=[7, 1], reward_exponent=-150,
              value_exponent=150),
         struct.pack("<4IQqQQii", 2, 1, 0, 0, 0, -5, 7, 1, -150, 150)),
        (GaeOpcode.PUSH,
         dict(PUSH, reward_mean=-(1 << 26), value_mean=(1 << 26) - 1, value_shift=53),
         struct.pack("<4IiiIIiiII", 3, 1, 0, 0, 0, -(1 << 26), 0, 1, 0, (1 << 26) - 1, 0, 53)),
    ],
)  # fmt: skip
def test_commands_at_their_limits(opcode, values, expected):
    """The bytes, written by hand."""
    config = GAE if isinstance(opcode, GaeOpcode) else NARROW
    assert encoded(opcode, values, config) == expected.ljust(64, b"\0")


@pytest.mark.parametrize(
    "opcode, values, message",
    [
        (Opcode.SAMPLE, dict(SAMPLE, beta=65536), r"SAMPLE\.beta must be in .*, not 65536"),
        (Opcode.SAMPLE, dict(SAMPLE, beta=-1), r"SAMPLE\.beta must be in 0\.\.65535, not -1"),
        (Opcode.SAMPLE, dict(SAMPLE, beta=0.5), r"SAMPLE\.beta must be in 0\.\.65535, not 0\.5"),
        (Opcode.SAMPLE, dict(SAMPLE, beta=None), r"SAMPLE\.beta must be in .*, not None"),
        (Opcode.SAMPLE, dict(SAMPLE, count=0), r"SAMPLE\.count must be in 1\.\.65535, not 0"),
        (Opcode.SAMPLE, dict(SAMPLE, count=65536), r"SAMPLE\.count must be in .*, not 65536"),
        (Opcode.SAMPLE, dict(count=1, stratum_width=(1 << 48) + 1),
         r"SAMPLE\.stratum_width must be in .*, not 281"),
        (Opcode.SAMPLE, dict(SAMPLE, source=64), r"SAMPLE\.source must be 0, not 64"),
        (Opcode.SAMPLE, dict(SAMPLE, destination=1 << 32), rf"SAMPLE\.destination must be {U32}"),
        (Opcode.SETUP, dict(SETUP, capacity=38), r"SETUP\.capacity must be in 2\.\.37, not"),
        (Opcode.SETUP, dict(SETUP, capacity=1), r"SETUP\.capacity must be in 2\.\.37, not 1"),
        (Opcode.SETUP, dict(SETUP, priority=0), r"SETUP\.priority must be in 1\.\.65535, not 0"),
        (Opcode.RESTORE, dict(RESTORE, position=-1), rf"RESTORE\.position must be {U32}, not -1"),
        (Opcode.SEED, dict(state=[1, 2, 3]), r"SEED\.state must be 4 numbers, not 3"),
        (Opcode.SEED, dict(state=[1, 2, 3, 4, 5]), r"SEED\.state must be 4 numbers, not 5"),
        *((Opcode.SEED, dict(state=one), r"SEED\.state must be 4 numbers, not 1")
          for one in (7, None, np.uint64(7), np.array(7))),
        *((Opcode.SEED, dict(state=np.array([0, 5, 0, 1], kind)),
           r"SEED\.state\[0\] must be in .*, not 0\.0") for kind in (float, np.float32)),
        (Opcode.SEED, dict(state=[0, 0, 0, 1 << 64]), r"SEED\.state\[3\] must be in .*, not 1844"),
        (Opcode.SEED, dict(state=np.array([0, 0, 0, -7])), r"SEED\.state\[3\] must be .*, not -7"),
        (Opcode.SEED, dict(state=np.zeros(3, np.uint64)), r"SEED\.state must be 4 numbers, not 3"),
        (Opcode.SEED, dict(state=(1, 2, None, 4)), r"SEED\.state\[2\] must be in .*, not None"),
        (Opcode.RESTORE, dict(RESTORE, position=[1]),
         rf"RESTORE\.position must be {U32}, not \[1\]"),
        (Opcode.SEED, dict(state=[0, 0, -1, 0]),
         r"SEED\.state\[2\] must be in 0\.\.18446744073709551615, not -1"),
        (GaeOpcode.STATISTICS, dict(count=1, reward_exponent=-151, value_exponent=0),
         r"STATISTICS\.reward_exponent must be in -150\.\.150, not -151"),
        (GaeOpcode.STATISTICS, dict(count=1, reward_exponent=0, value_exponent=151),
         r"STATISTICS\.value_exponent must be in -150\.\.150, not 151"),
        (GaeOpcode.PUSH, dict(PUSH, value_mean=-(1 << 26) - 1),
         r"PUSH\.value_mean must be in -67108864\.\.67108863, not -67108865"),
        (GaeOpcode.PUSH, dict(PUSH, reward_shift=0), r"PUSH\.reward_shift must be in 1\.\.53"),
    ],
)  # fmt: skip
def test_fields_out_of_their_limits(opcode, values, message):
    config = GAE if isinstance(opcode, GaeOpcode) else NARROW
    with pytest.raises(ValueError, match=f"^{message}"):
        encoded(opcode, values, config)


@pytest.mark.parametrize(
    "opcode, values, message",
    [
        (Opcode.SETUP, dict(capacity=2, granules=1), "SETUP.priority must be given, not missing"),
        (Opcode.SEED, {}, "SEED.state must be given, not missing"),
        (Opcode.SAMPLE, {}, "SAMPLE.count must be given, not missing"),
        (Opcode.SAMPLE, dict(SAMPLE, betta=1),
         "SAMPLE.betta must be the name of a field, not unknown (did you mean SAMPLE.beta?)"),
        (Opcode.SEED, dict(stat=[1, 2, 3, 4]),
         "SEED.stat must be the name of a field, not unknown (did you mean SEED.state?)"),
        (Opcode.SEED, dict(opcode=2, state=[0] * 4),
         "SEED.opcode must be the name of a field, not unknown (there are SEED.count, SEED.source, "
         "SEED.destination, SEED.state)"),
        (Opcode.SEED, dict(state=[0] * 4, **{"": 1}), "SEED. must be the name of a field"),
        (Opcode.SEED, {"7": 1, "state": [0] * 4}, "SEED.7 must be the name of a field"),
        (Opcode.SEED, None, "fields of SEED must be a dict, not None"),
        (GaeOpcode.PUSH, SAMPLE, "opcode must be one of SETUP, SEED, RESTORE, INSERT, SET, UPDATE"),
    ],
)  # fmt: skip
def test_fields_missing_or_unknown(opcode, values, message):
    """A field that was left out ran as 0, one that no command has came without the known names."""
    with pytest.raises(UsageError, match=f"^{re.escape(message)}"):
        encoded(opcode, values)


@pytest.mark.parametrize("name", DESIGNS)
def test_every_field_without_a_default_is_needed(name):
    """Of every command of every design; offsets, and fields that may be 0 only, need not be."""
    design = DESIGNS[name]
    config = design.default(boards.get("u200").numbers)
    for opcode, command in design.commands.items():
        given, needed = {}, []
        for field in command.fields[1:]:
            (low, high), offset = field.limits(config), "byte offset" in field.doc
            if field.default is None and not offset and (low, high) != (None, 0):
                needed.append(field.name)
            given[field.name] = (low or 0) if field.count == 1 else [low or 0] * field.count
        for left in given:
            some = {field: value for field, value in given.items() if field != left}
            if left in needed:
                with pytest.raises(UsageError, match=rf"^{command.name}\.{left} must be given"):
                    encode(design.commands, [(opcode, some)], config)
            else:
                encode(design.commands, [(opcode, some)], config)
    with pytest.raises(UsageError, match="must be given"):
        Launcher(Bare(design, config)).run([(opcode, {})])


class Bare:
    """What a Launcher reads of a kernel before it packs a program."""

    def __init__(self, design, config):
        self.description = design.describe(config)


def test_commands_of_a_program_do_not_share_fields():
    """What one gives and the next does not is 0 there, in whatever order they come."""
    long = (Opcode.SAMPLE, dict(count=5, stratum_width=7, beta=3, destination=64))
    short, none = (Opcode.SAMPLE, SAMPLE), (Opcode.INSERT, dict(count=1))
    for program in ([long, short, none, long], [none, short, long, short]):
        rows = encode(DESIGNS["replay"].commands, program, NARROW)
        assert [row.tobytes() for row in rows] == [encoded(*command) for command in program]
    commands = DESIGNS["gae"].commands
    bare = dict(count=1, reward_exponent=0, value_exponent=0)
    full, zeros = (GaeOpcode.STATISTICS, dict(bare, prior_squares=[3, 4])), (
        GaeOpcode.STATISTICS, bare,
    )  # fmt: skip
    rows = encode(commands, [full, zeros, full], GAE)
    at = commands[GaeOpcode.STATISTICS].offsets["prior_squares"]
    assert [row[at] for row in rows] == [3, 0, 3]
    assert encoded(*short) == struct.pack("<4IQI", 7, 1, 0, 0, 0, 0).ljust(64, b"\0")


def test_limits_are_those_of_the_kernel():
    """A command that one kernel takes and another does not, asked in turn."""
    values = dict(SETUP, capacity=38)
    for _ in range(2):
        assert encoded(Opcode.SETUP, values, WIDE)[16] == 38
        with pytest.raises(ValueError, match=r"capacity must be in 2\.\.37, not 38"):
            encoded(Opcode.SETUP, values, NARROW)


@CARDS
def test_a_refused_program_has_not_begun(card):
    with opened(card, NARROW) as kernel:
        launch = launcher(kernel)
        launch.run([setup(), (Opcode.INSERT, {"count": 3})])
        status = launch.status.copy()
        program = [(Opcode.INSERT, {"count": 2}), (Opcode.SAMPLE, {**SAMPLE, "beta": 70_000})]
        with pytest.raises(ValueError, match=r"^SAMPLE.beta must be in 0\.\.65535, not 70000$"):
            launch.run(program, (), 64)
        assert launch.launches == 1 and launch.status == status
        launch.run([])
        assert launch.status["fill"] == 3
