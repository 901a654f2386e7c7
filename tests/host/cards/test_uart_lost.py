"""host.cards.serial_line where the board is not, or no longer, at the other end of the port."""

import itertools
import time

import numpy as np
import pytest
import serial
from uart.serial_port import SerialPort
from uart.systems import UART, describe

from host.cards import CardError, CardTimeout, open_card
from hw.uart.protocol import END


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "kernel.json"
    path.write_text(describe().to_json())
    return path


class Talking(SerialPort):
    """Another device that says the same for ever, a part of it at every look at the port."""

    TEXT = b"$GPGGA,120000,,,,,0,00,99.9,,,,,,*48\r\n" + bytes([END])
    looks = 0

    @property
    def in_waiting(self):
        return 20

    def read(self, count):
        self.looks += 1
        assert self.looks < 20_000, "the host must have given up by now"
        time.sleep(1e-4)
        at = 20 * self.looks % len(self.TEXT)
        talk = (self.TEXT * 2)[at : at + 20]
        answer, self.arrived = self.arrived, b""
        return bytes([END]) + answer + talk if answer else talk


def test_s_another_device_that_talks(plug):
    """What is no answer does not make the wait longer; answers between it are heard."""
    port = plug(kind=Talking, faults=lambda direction, data: b"")
    with pytest.raises(
        CardTimeout, match=r"must answer within 0\.05 s, not send what is no answer 3 times"
    ):
        open_card("uart:/dev/board")
    assert port.closed and len(port.written) == 1 + 3
    plug(kind=Talking)
    with open_card("uart:/dev/board") as card:
        assert card.device.identity["bank_count"] == len(UART.banks)


@pytest.mark.parametrize("member", ["read", "write", "in_waiting", "reset_input_buffer"])
def test_t_a_cable_that_is_pulled(plug, path, monkeypatch, member):
    """While launches go on, or before the first word: an error of the card, which says where."""
    port = plug()

    def pulled(*_):
        raise serial.SerialException("device reports readiness to read but returned no data")

    if member == "reset_input_buffer":
        monkeypatch.setattr(port, member, pulled)
        with pytest.raises(CardError, match="port must be a serial port that opens, not '/dev/bo"):
            open_card("uart:/dev/board")
        return
    with open_card("uart:/dev/board") as card:
        kernel = card.load(path)
        kernel.check()
        pull = property(pulled) if member == "in_waiting" else pulled
        monkeypatch.setattr(SerialPort, member, pull)
        with pytest.raises(
            CardError,
            match="^the port /dev/board must stay open, not fail: device reports .*; is the "
            "board's cable in",
        ):
            kernel.check()
    assert port.closed


def test_r_replies_lost_far_apart(path, plug):
    """Each is given three attempts of its own, however many are lost in a transfer."""
    lost = itertools.cycle((False, False, True))
    plug(faults=lambda way, data: b"" if way == "in" and data and next(lost) else data)
    data = (np.arange(12_000) % 253).astype(np.uint8)
    with open_card("uart:/dev/board") as card:
        buffer = card.load(path).buffer("storage", len(data))
        buffer.write(data)
        assert (buffer.read(np.uint8, len(data)) == data).all()
