"""A board with a serial line, compiled by Verilator: bytes go into its pin rx and come out of
tx."""

import ctypes
from importlib.resources import files

import numpy as np

from hw.shell.core import LIGHTS
from sim.verilate import loaded, shared_library

__all__ = ["VerilatedSystem"]

_u64 = ctypes.c_uint64
_doubles = np.ctypeslib.ndpointer(np.float64, shape=(LIGHTS.size,), flags="C_CONTIGUOUS")
_bytes = np.ctypeslib.ndpointer(np.uint8, flags="C_CONTIGUOUS")

#: Bytes that one call brings back at most.
_ROOM = 4096


class VerilatedSystem:
    """A simulated ``hw.uart.system.System``, after its reset.

    Parameters
    ----------
    verilog : str
        The text of the design.
    divisor : int
        Clocks a bit of the serial line.
    name : str
        The module of ``verilog`` that is the system.

    Attributes
    ----------
    waiting : bytes
        Bytes given to ``run`` that have not been sent yet.
    """

    def __init__(self, verilog, *, divisor, name="system"):
        source = (files(__package__) / "harness.cpp").read_text(encoding="utf-8")
        self._library = loaded(shared_library(name, verilog, {"harness.cpp": source}))
        for function, result, *arguments in (
            ("open", ctypes.c_void_p, ctypes.c_uint32),
            ("close", None, ctypes.c_void_p),
            ("brightness", None, ctypes.c_void_p, _doubles),
            ("run", _u64, ctypes.c_void_p, _u64, _bytes, _u64, _bytes, _u64, ctypes.POINTER(_u64)),
        ):
            pointer = getattr(self._library, f"board_{function}")
            pointer.restype, pointer.argtypes = result, arguments
        self.divisor, self.waiting = divisor, b""
        self._board = self._library.board_open(divisor)

    def run(self, clocks, data=b""):
        """Simulates ``clocks`` clocks, and returns the bytes that the board sends in them.

        The bytes still ``waiting``, then ``data``, are sent to the board one after another; what is
        not sent in these clocks waits for the next call.
        """
        self.waiting += bytes(data)
        source = np.frombuffer(self.waiting or b"\0", np.uint8)
        room, taken = np.empty(_ROOM, np.uint8), _u64()
        count = self._library.board_run(
            self._board, clocks, source, len(self.waiting), room, _ROOM, ctypes.byref(taken)
        )
        self.waiting = self.waiting[taken.value :]
        return room[:count].tobytes()

    def brightness(self):
        """How long each LED was on since the last call, as shares of the clocks that were run,
        which must be one or more: a number for each bit of ``hw.shell.core.LIGHTS``."""
        shares = np.empty(LIGHTS.size)
        self._library.board_brightness(self._board, shares)
        return shares

    def close(self):
        if self._board:
            self._library.board_close(self._board)
            self._board = None

    def __del__(self):
        if getattr(self, "_board", None):
            self.close()
