"""sim.model.command, which remembers what 64 bytes say by themselves, and nothing of the state."""

from types import SimpleNamespace

import pytest
from replay.kernels import NARROW, WIDE

from hw.replay.commands import COMMANDS, Opcode
from hw.replay.records import Error
from hw.shell.program import ShellError
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
