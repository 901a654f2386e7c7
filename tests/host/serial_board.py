"""A board's twin at a serial port that the next card finds."""

import serial
from uart.serial_port import SerialPort
from uart.systems import describe, twin

from host.cards import line

__all__ = ["kernel_file", "plugger"]


def kernel_file(folder):
    """``kernel.json`` of the board's kernel, in ``folder``."""
    path = folder / "kernel.json"
    path.write_text(describe().to_json())
    return path


def plugger(monkeypatch):
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
