"""sim.model.command, which remembers what 64 bytes say by themselves, and nothing of the state."""

from types import SimpleNamespace

import pytest
from amaranth import Signal
from replay.kernels import NARROW, WIDE

from hw.replay.commands import COMMANDS, Opcode
from hw.replay.records import Error
from hw.shell.command import MAX_BEATS, Command, CommandTable, Footprint, counted, operands
from hw.shell.errors import ShellError
from hw.shell.layout import Field
from sim.model import command
from sim.model.command import CommandCheck


@pytest.fixture
def wide():
    return make(WIDE)


def make(config):
    return CommandCheck(COMMANDS, config, lambda buffer: 64)


def state(config=WIDE, **values):
    """Of a core with an empty memory of 10 places."""
    values = {"capacity": 10, "fill": 0, "granules": 1, "extent": 10, "empty": True, **values}
    return SimpleNamespace(config=config, **values)


def check(twin, own, opcode, **fields):
    """``(error, detail, c)`` of a command, of buffers of a megabyte."""
    layout = COMMANDS[opcode]
    numbers = [opcode.value, *(fields.get(f.name, 0) for f in layout.fields[1:])]
    _, c, error, detail = twin(layout.pack(numbers), own, lambda buffer: 1 << 20)
    return error, detail, c


def test_limits_are_those_of_the_config(wide):
    """The same bytes, of kernels that take turns."""
    narrow = make(NARROW)
    for _ in range(2):
        error, detail, _ = check(narrow, state(NARROW), Opcode.SETUP, capacity=38, priority=1)
        assert (error, detail) == (ShellError.FIELD, 16)
        assert check(wide, state(), Opcode.SETUP, capacity=38, priority=1)[0] == Error.NONE


def test_what_depends_on_the_state_is_asked_again(wide):
    """A SAMPLE that fits, and then does not, and then does; a namespace is nobody else's."""
    fine, few, nothing = (5, False, Error.NONE), (4, False, Error.FILL), (5, True, Error.EMPTY)
    for fill, empty, expected in (fine, few, fine, nothing, fine):
        own = state(fill=fill, empty=empty)
        error, _, c = check(wide, own, Opcode.SAMPLE, count=5)
        assert error == expected and c.count == 5
        c.count, c.beats["results"] = 99, 7
    for granules in (1, 3):
        _, _, c = check(wide, state(fill=9, empty=False, granules=granules),
                        Opcode.SAMPLE, count=5)  # fmt: skip
        assert c.transfer == 5 * (granules + 1)
        assert c.beats["destination"] == -(-c.transfer * 16 // 64)


def test_beats_are_those_of_one_command(wide):
    """An INSERT's stay what they were, and a GET has none of them."""
    first = check(wide, state(), Opcode.INSERT, count=9, given=1, priorities=64)[2]
    second = check(wide, state(fill=9), Opcode.GET, count=1)[2]
    assert first.beats == {"source": 3, "priorities": 2, "storage": 3}
    assert second.beats == {"source": 1, "destination": 1}


def test_beats_of_one_request():
    """What is moved in one request has a limit; what the core reaches piece by piece has none."""
    size = {"count": counted(1 << 31)}
    moved = Command(Opcode.SET, "", footprints=(operands(_beats, ""),), **size)
    reached = Command(Opcode.GET, "", footprints=(Footprint("storage", _beats, ""),), **size)
    twin = CommandCheck(CommandTable((moved, reached)), WIDE, lambda buffer: 64)
    for one, count, expected in (
        (moved, MAX_BEATS, ShellError.NONE),
        (moved, MAX_BEATS + 1, ShellError.COUNT),
        (reached, MAX_BEATS + 1, ShellError.NONE),
    ):
        raw = one.pack([one.opcode.value, count, 0, 0])
        assert twin(raw, state(), lambda buffer: 1 << 40)[2] == expected


def _beats(c, _):
    return 64 * c.count


def test_more_commands_than_are_remembered(wide, monkeypatch):
    monkeypatch.setattr(command, "_KEPT", 4)
    for _ in range(2):
        for count in range(0, 12):
            own = state(fill=9, empty=False)
            error = check(wide, own, Opcode.SAMPLE, count=count)[0]
            assert error == (Error.COUNT if not count else Error.FILL if count > 9 else Error.NONE)
            assert len(wide._seen) <= 4


def test_what_is_no_command(wide):
    for _ in range(2):
        for raw in (bytes(64), b"\xff" * 64, (99).to_bytes(4, "little").ljust(64, b"\0")):
            assert wide(raw, state(), None)[2:] == (ShellError.OPCODE, 0)


def test_a_place_has_one_byte_in_all_commands():
    """The decoder reads it there, whichever command it is."""
    place, other = Field("place", "u32", "where"), Field("other", "u32", "before it")
    moved = operands(lambda c, s: 64, "bytes", offset="place")

    def table(*fields):
        first = Command(Opcode.SEED, "First.", (place,), footprints=(moved,))
        return CommandTable((first, Command(Opcode.SETUP, "Second.", fields, footprints=(moved,))))

    assert table(place, other).footprints == {"place": ("operands", "place")}
    with pytest.raises(ValueError, match="place must be at one byte of all commands, not at 20"):
        _ = table(other, place).footprints


def test_a_field_of_several_commands_has_one_byte():
    """What is read of one command for another is at the same byte, and of the same kind."""
    common = Field("common", "u32", ""), Field("own", "u32", "")

    def table(*fields):
        return CommandTable((Command(Opcode.SEED, "", common), Command(Opcode.SETUP, "", fields)))

    raw = Signal(512)
    read = table(common[0], Field("other", "f32", "")).field("common", raw)
    assert repr(read) == repr(raw[128:160])
    assert repr(table().field("own", raw)) == repr(raw[160:192])
    assert repr(table().field("count", raw)) == repr(raw[32:64])
    message = "field common must be at one byte of all commands, not"
    for fields, where in (
        ((common[1], common[0]), "u32 at 16, u32 at 20"),
        ((Field("common", "i32", ""),), "i32 at 16, u32 at 16"),
        ((Field("common", "u32", "", 2),), "u32 at 16, u32\\[2\\] at 16"),
    ):
        with pytest.raises(ValueError, match=f"{message} {where}"):
            table(*fields).field("common", raw)
    with pytest.raises(ValueError, match="field nothing must be .*, not nowhere"):
        table().field("nothing", raw)
