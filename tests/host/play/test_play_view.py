"""`rlfabric watch uart:PORT`: what a second program sees of a board that plays."""

import io

import numpy as np
import pytest
from rich.console import Console
from uart.systems import describe, twin

from host.cards import open_card
from host.cli import watch as module
from host.cli.watch import watch_port
from hw.designs import DESIGNS
from hw.learner.play.commands import PLAYING, PlayOpcode
from hw.shell.control_map import CTRL
from hw.uart.config import UartConfig
from tests.host.play.test_playing_replay import CONFIG, filled, play

UART = UartConfig(clock_hz=12_000_000, banks=(64 << 10, 24 << 10))
#: The first bytes of the last PLAY in memory.
PLAY = np.array([PlayOpcode.PLAY.value, 60], "<u4").tobytes()
BEAT = CONFIG.engine.beat_bytes


@pytest.fixture(scope="module")
def description():
    return DESIGNS["dqn"].describe(CONFIG)


@pytest.fixture
def path(tmp_path, description):
    path = tmp_path / "kernel.json"
    path.write_text(description.to_json())
    return path


@pytest.fixture
def board(plug, path, description):
    """A board that has played two launches of 60 vector steps, and its episodes in the second."""
    port = plug(twin(description, UART))
    with open_card("uart:/dev/board") as card:
        buffer = filled(card.load(path))
        first = play(buffer, 60, 0, 0)
        second = play(buffer, 60, 60, int(buffer.status["iterations"]))
    assert len(first.episodes) > 3 < len(second.episodes)
    plug(port.board)
    return port.board, second.episodes


def seen(path, **options):
    """The text that is drawn once."""
    text = io.StringIO()
    watch_port("/dev/board", path, Console(file=text, width=60, **options))
    return text.getvalue()


def busy(board, monkeypatch, looks):
    """The kernel is at work while CTRL is read ``looks`` times; ``looks`` is a list of callables,
    which are called then."""
    read = board._read

    def answered(address):
        if address == CTRL.offset and looks:
            looks.pop(0)()
            return 1
        return read(address)

    monkeypatch.setattr(board, "_read", answered)


def test_the_last_launch_of_a_board_that_rests(board, path):
    """Its own episodes only, though the ring has some of the launch before; nothing is written."""
    board, episodes = board
    banks = [bank.copy() for bank in board.banks]
    last, count = episodes[-1], len(episodes)
    text = seen(path)
    assert f"step {3 * (int(last['step']) + 1)}, {count} episodes, " in text
    assert f"return {last['total']:.4g}\n" in text and "the board at /dev/board" in text
    for bank, before in zip(board.banks, banks, strict=True):
        np.testing.assert_array_equal(bank, before)


def test_it_follows_until_the_launch_has_ended(board, path, monkeypatch):
    """Episodes come into the ring between two looks, and the last ones with the end."""
    board, episodes = board
    bank, whole = board.banks[0], board.banks[0].copy()
    raw = bank.tobytes()
    for each in episodes[1:]:
        at = raw.index(each.tobytes())
        bank[at : at + BEAT] = 0

    def grown(count):
        for each in episodes[:count]:
            at = raw.index(each.tobytes())
            bank[at : at + BEAT] = whole[at : at + BEAT]

    busy(board, monkeypatch, [lambda: None, lambda: grown(2)])
    naps = []

    def sleep(seconds):
        naps.append(seconds)
        if len(naps) == 2:
            grown(len(episodes))

    monkeypatch.setattr(module.time, "sleep", sleep)
    text = seen(path, force_terminal=True)
    for count in (1, 2, len(episodes)):
        assert f", {count} episodes, return" in text
    assert len(naps) == 2


def test_a_fresh_launch_clears_the_ring(board, path, plug):
    """An earlier run has left more episodes of these steps there; they are none of this launch."""
    board, _ = board
    with open_card("uart:/dev/board") as card:
        buffer = filled(card.load(path))
        before = play(buffer, 60, 0, 0, greedy=True)
        count = len(play(buffer, 60, 0, 0).episodes)
    assert 0 < count < len(before.episodes)
    plug(board)
    assert f", {count} episodes, " in seen(path)


@pytest.fixture
def refused(run, path):
    """``refused(rule, code, kernel)``: the command ends in one line that has ``rule``."""

    def refused(rule, code=1, kernel=path):
        found, out, err = run("watch", "uart:/dev/board", "--kernel", kernel)
        assert found == code and not out and err.count("\n") == 1 and rule in err, err

    return refused


def test_a_board_that_was_given_no_play(board, path, plug, refused):
    board, _ = board
    ring = board.banks[0].tobytes().index(PLAY) + PLAYING[PlayOpcode.PLAY].offsets["episodes"]
    board.banks[0][ring : ring + 4] = 0
    refused("must have a ring of episodes, not 0 records")
    plug(board)
    with open_card("uart:/dev/board") as card:
        filled(card.load(path))  # its last command is PROGRAM
    plug(board)
    refused("must play, or have played in its last launch; it was given no PLAY")
    board._registers = dict.fromkeys(board._registers, 0)
    refused("it was given no PLAY")


def test_a_silent_port(plug, refused):
    plug(faults=lambda direction, data: b"")
    refused("the board at /dev/board must answer within")


def test_another_kernel(board, plug, refused, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(describe().to_json())
    refused("config_hash must be", kernel=other)
    plug(twin())
    refused("must be one that plays, not another", kernel=other)
    refused("--kernel must be the kernel.json", code=2, kernel=tmp_path / "none.json")


def test_a_folder_has_no_kernel(run, tmp_path, path):
    code, _, err = run("watch", tmp_path, "--kernel", path)
    assert code == 2 and "--kernel must be with uart:PORT, not with" in err
