"""Fixtures of several tests of the host."""

import pytest
import serial
from uart.serial_port import SerialPort
from uart.systems import twin

from host.cards import line


@pytest.fixture
def plug(monkeypatch):
    """``plug(board=None, **options)``: the SerialPort that the next card finds; short silences."""
    monkeypatch.setattr(line, "SILENCE_S", 0.05)

    def plug(board=None, kind=SerialPort, **options):
        port = kind(board or twin(), **options)

        def open_port(name, baud, *, timeout, exclusive):
            assert (name, baud, exclusive) == ("/dev/board", 3_000_000, True) and timeout <= 0.1
            return port

        monkeypatch.setattr(serial, "Serial", open_port)
        return port

    return plug
