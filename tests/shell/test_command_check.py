"""CommandTable.check, which remembers what 64 bytes say: of one config, and of the bytes alone."""

from types import SimpleNamespace

import pytest
from replay.kernels import NARROW, WIDE

from hw.replay.commands import COMMANDS, Opcode
from hw.replay.records import Error
from hw.shell import command as module
from hw.shell.command import CommandTable
from hw.shell.program import ShellError


@pytest.fixture
def table():
    """One of its own, that has seen nothing."""
    return CommandTable(COMMANDS.values(), COMMANDS.stages)


def state(config, **values):
    """Of a core with an empty memory of 10 places."""
    values = {"capacity": 10, "fill": 0, "granules": 1, "extent": 10, "empty": True, **values}
    return SimpleNamespace(config=config, **values)


def check(table, own, opcode, **fields):
    """``(error, detail, c)`` of a command, of buffers of a megabyte."""
    layout = COMMANDS[opcode]
    numbers = [opcode.value, *(fields.get(f.name, 0) for f in layout.fields[1:])]
    _, c, error, detail = table.check(layout.pack(numbers), own, lambda _: 1 << 20, lambda _: 64)
    return error, detail, c


def test_limits_are_those_of_the_config(table):
    """The same bytes, of kernels that take turns."""
    for _ in range(2):
        error, detail, _ = check(table, state(NARROW), Opcode.SETUP, capacity=38, priority=1)
        assert (error, detail) == (ShellError.FIELD, 16)
        assert check(table, state(WIDE), Opcode.SETUP, capacity=38, priority=1)[0] == Error.NONE


def test_what_depends_on_the_state_is_asked_again(table):
    """A SAMPLE that fits, and then does not, and then does; a namespace is nobody else's."""
    fine, few, nothing = (5, False, Error.NONE), (4, False, Error.FILL), (5, True, Error.EMPTY)
    for fill, empty, expected in (fine, few, fine, nothing, fine):
        own = state(WIDE, fill=fill, empty=empty)
        error, _, c = check(table, own, Opcode.SAMPLE, count=5)
        assert error == expected and c.count == 5
        c.count, c.beats["results"] = 99, 7
    for granules in (1, 3):
        _, _, c = check(table, state(WIDE, fill=9, empty=False, granules=granules),
                        Opcode.SAMPLE, count=5)  # fmt: skip
        assert c.transfer == 5 * (granules + 1)
        assert c.beats["destination"] == -(-c.transfer * 16 // 64)


def test_more_commands_than_are_remembered(table, monkeypatch):
    monkeypatch.setattr(module, "_KEPT", 4)
    for _ in range(2):
        for count in range(0, 12):
            own = state(WIDE, fill=9, empty=False)
            error = check(table, own, Opcode.SAMPLE, count=count)[0]
            assert error == (Error.COUNT if not count else Error.FILL if count > 9 else Error.NONE)
            assert len(table._seen) <= 4


def test_what_is_no_command(table):
    for _ in range(2):
        for raw in (bytes(64), b"\xff" * 64, (99).to_bytes(4, "little").ljust(64, b"\0")):
            assert table.check(raw, state(WIDE), None, None)[2:] == (ShellError.OPCODE, 0)
