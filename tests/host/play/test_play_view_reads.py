"""What a PlayView reads of a board, whose memory and registers are written here by hand."""

import io
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from host.cards import CardError
from host.cli.watch import watch_port
from host.play import play_view
from hw.learner.play.commands import COMMANDS, PlayOpcode
from hw.learner.play.episodes import EPISODE
from hw.learner.play.play_contract import PLAY_SETTINGS
from hw.shell.control_map import CTRL
from hw.shell.program import COMMAND_BYTES

PROGRAM, OPERANDS, RESULTS = (place << 32 | 64 for place in (1, 2, 3))
NAMES = ("program", PROGRAM), ("operands", OPERANDS), ("results", RESULTS)
IDLE, BEAT, PLACES = 1 << CTRL.bit("ap_idle"), 32, 8


class Board:
    """Registers and memory, by address; ``closed`` tells of the device."""

    port = "/dev/board"

    def __init__(self, commands, step, environments=3):
        self.memory, self.closed, self.control = {}, False, IDLE
        settings = {field.name: 0 for field in PLAY_SETTINGS.fields} | {"step": step}
        # Two PLAYs, each with settings and a ring of its own; the last one counts.
        self.put(OPERANDS + 128, PLAY_SETTINGS.pack([*settings.values()]))
        self.put(PROGRAM, b"".join(commands))
        self.arguments = [SimpleNamespace(name=name, offset=16 + 12 * place, size=8)
                          for place, (name, _) in enumerate(NAMES)]  # fmt: skip
        count = SimpleNamespace(name="command_count", offset=96, size=4)
        self.registers = {96: len(commands), CTRL.offset: IDLE}
        for argument, (_, value) in zip(self.arguments, NAMES, strict=True):
            self.registers[argument.offset] = value & 0xFFFFFFFF
            self.registers[argument.offset + 4] = value >> 32
        self.description = SimpleNamespace(
            config={"play": {"environments": environments}}, name="dqn",
            arguments=[*self.arguments, count],
            masters=[SimpleNamespace(arguments=("results", "program"), data_width=8 * BEAT),
                     SimpleNamespace(arguments=("storage",), data_width=128)],
        )  # fmt: skip

    def put(self, address, data):
        self.memory |= {address + place: byte for place, byte in enumerate(data)}

    def ring(self, *rows):
        """EPISODEs at the first places of the second ring, each in a beat of its own."""
        for place, row in enumerate(rows):
            record = np.array((*row, 0), EPISODE.dtype).tobytes()
            self.put(RESULTS + 256 + place * BEAT, record.ljust(BEAT, b"\xff"))

    def read(self, address, count=None):
        if count is None:
            return self.registers[address]
        return bytes(self.memory.get(address + place, 0) for place in range(count))

    def close(self):
        self.closed = True


def command(opcode, **fields):
    own = COMMANDS[opcode]
    record = np.zeros((), own.dtype)
    for name, value in (fields | {"opcode": opcode.value}).items():
        record[name] = value
    assert record.nbytes == COMMAND_BYTES
    return record.tobytes()


SAVE = command(PlayOpcode.SAVE)
FIRST = command(PlayOpcode.PLAY, count=9, episodes=1, source=0, destination=0)
LAST = command(PlayOpcode.PLAY, count=5, episodes=PLACES, source=128, destination=256)


@pytest.fixture
def view(monkeypatch):
    def opened(board):
        def device(port, resets):
            assert port == board.port and not resets
            return SimpleNamespace(line=board, close=board.close)

        monkeypatch.setattr(play_view, "device", device)
        monkeypatch.setattr(play_view, "xclbin", lambda path: path)
        monkeypatch.setattr(play_view, "hw_context", lambda *_: board)
        monkeypatch.setattr(play_view, "kernel", lambda context, name: context)
        return play_view.PlayView(board.port, "kernel.json")

    return opened


def test_episodes_of_the_last_play(view):
    """Its first vector step is 40, and its last one 44; an environment may be wrong, and any field
    0, in a record that is being written."""
    board = Board([SAVE, FIRST, SAVE, LAST, SAVE], step=40)
    board.ring(
        (44, 2, 1, 5, 1.5), (40, 0, 2, 1, 2.5), (39, 0, 1, 5, 3.5), (45, 0, 1, 5, 4.5),
        (42, 3, 1, 5, 5.5), (42, 1, 0, 5, 6.5), (42, 1, 1, 0, 7.5), (44, 0, 3, 7, 8.5),
    )  # fmt: skip
    found = view(board)
    running, rows = found.look()
    assert not running and not board.closed and found.environments == 3
    assert rows["total"].tolist() == [2.5, 8.5, 1.5]
    board.registers[CTRL.offset] = 1
    assert found.look().running
    found.close()
    assert board.closed


def test_the_ring_is_read_after_the_kernel_was_seen_at_work(view, monkeypatch):
    """What ends between the two is in the next look, which finds the launch ended."""
    board = Board([LAST], step=0)
    found, order = view(board), []
    read = board.read
    monkeypatch.setattr(board, "read", lambda *where: (order.append(where[0]), read(*where))[1])
    found.look()
    assert order == [CTRL.offset, RESULTS + 256]


@pytest.mark.parametrize("commands, message", [
    ([SAVE], "must play, or have played"), ([], "must play, or have played"),
    ([command(PlayOpcode.PLAY, count=5)], "must have a ring of episodes, not 0 records"),
])  # fmt: skip
def test_a_port_that_is_refused_is_closed(view, commands, message):
    board = Board(commands, step=0)
    with pytest.raises(CardError, match=message):
        view(board)
    assert board.closed


def test_a_kernel_without_environments(view):
    board = Board([LAST], step=0, environments=0)
    with pytest.raises(CardError, match="^the kernel at /dev/board must be one that plays, not an"):
        view(board)
    assert board.closed


@pytest.mark.parametrize("fails", [False, True])
def test_the_port_is_closed_after_the_last_look(monkeypatch, tmp_path, fails):
    board = Board([LAST], step=0)

    def look():
        if fails:
            raise CardError("no answer")
        return play_view.Seen(False, np.zeros(0, EPISODE.dtype))

    board.look, board.environments = look, 3
    monkeypatch.setattr(play_view, "PlayView", lambda port, path: board)
    (tmp_path / "kernel.json").touch()
    text = io.StringIO()
    with pytest.raises(CardError) if fails else nullcontext():
        watch_port("/dev/board", tmp_path / "kernel.json", Console(file=text))
    assert board.closed
    assert fails or text.getvalue() == "the board at /dev/board: no episode has ended\n"
