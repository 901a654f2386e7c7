"""`rlfabric watch uart:PORT` on a Verilated board, which plays on when the program that began its
launch has ended."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from learner.modelled import weights
from learner.play.play_programs import SMALL
from learner.play.played import segments_of
from rich.console import Console

from host.cards import open_card, serial_line
from host.cli.watch import watch_port
from host.play.playing_replay import PlayingReplay
from hw.designs import DESIGNS
from hw.environment.tasks.cartpole import CartPole
from hw.uart.config import UartConfig
from hw.uart.system import System
from hw.verilog import to_verilog
from tests.host.cards.test_uart_pty import board
from tests.host.play.test_playing_replay import SETTINGS

ROOT = Path(__file__).parents[3]
#: Seconds in which a board answers that has little of a processor.
SILENCE_S = 60.0
#: Four clocks a bit.
UART = UartConfig(clock_hz=12_000_000, banks=(1 << 17, 1 << 14))


def played(kernel, ready=lambda: None):
    """The launch of 60 vector steps. ``ready()`` is called before it."""
    buffer = PlayingReplay(kernel, capacity=64, seed=5, epsilon=2.0**-7)
    buffer.initialize(weights(SMALL))
    buffer.program(CartPole, 500, 9)
    ready()
    settings = SETTINGS | dict(period=1, iterations=30)
    return buffer.play(
        60, settings, segments_of(SMALL, [0]), batch_size=8, iterations=8, fresh=True
    )


def leave(port, path):
    """Begins the launch, and ends this program before the launch ends."""
    serial_line.SILENCE_S = SILENCE_S
    kernel = open_card(f"uart:{port}").load(path)
    played(kernel, lambda: setattr(kernel, "_wait", lambda timeout_s: os._exit(7)))


@pytest.fixture
def place(tmp_path):
    design = DESIGNS["dqn"]
    (tmp_path / "kernel.json").write_text(design.describe(SMALL).to_json())
    (tmp_path / "uart.json").write_text(UART.to_json())
    (tmp_path / "system.v").write_text(
        to_verilog(System(design.kernel(SMALL), UART), name="system")
    )
    return tmp_path


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_board_that_plays_is_watched(place, run, monkeypatch):
    """Episodes come while it is looked at, and are those of card `model`; who has the port is not
    disturbed, and the board is not reset."""
    monkeypatch.setattr(serial_line, "SILENCE_S", SILENCE_S)
    with open_card("model") as card:
        expected = played(card.load(place / "kernel.json")).episodes
    last = f"{len(expected)} episodes, return {expected[-1]['total']:.4g}"
    kernel = place / "kernel.json"
    with board(place) as port:
        words = f"from {__name__} import leave; leave({port!r}, {str(kernel)!r})"
        paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
        child = subprocess.run(
            [sys.executable, "-c", words], cwd=ROOT, env=os.environ | {"PYTHONPATH": paths},
            timeout=300,
        )  # fmt: skip
        assert child.returncode == 7
        text = io.StringIO()
        watch_port(port, kernel, Console(file=text, width=60, force_terminal=True))
        counts = [int(count) for count in re.findall(r", (\d+) episodes, return", text.getvalue())]
        assert len(set(counts)) > 2 and counts == sorted(counts), counts
        assert last in text.getvalue()
        code, out, err = run("watch", f"uart:{port}", "--kernel", kernel)
        assert code == 0 and last in out, err
        with open_card(f"uart:{port}"):
            code, _, err = run("watch", f"uart:{port}", "--kernel", kernel)
            assert (
                code == 1
                and "port must be a serial port that opens" in err
                and err.count("\n") == 1
            ), err
