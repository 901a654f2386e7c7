"""Launches through the control registers, for cards whose registers the host reads and writes
itself.

``run`` and ``xclbin`` are pyxrt's. A kernel of such a card has ``description`` and

``read(offset)``, ``write(offset, value)``
    A 32-bit register of ``s_axi_control``.
"""

import time
from pathlib import Path

from hw.shell.control_map import CTRL
from hw.shell.description import KernelDescription
from sim.card.xrt import ert_cmd_state

__all__ = ["run", "xclbin"]

# pyxrt does not export this state, but returns it.
_RUNNING = 3
_DEAD = 0xFFFFFFFF  # what a bus without an answer reads as
_PAUSE_S = 50e-6


class xclbin:
    """The kernel description at ``path``, in the place of pyxrt's xclbin. ``get_mems`` lists the
    card's memory banks, once an ``hw_context`` was made with it; before, the list is empty."""

    def __init__(self, path):
        self.description = KernelDescription.from_json(Path(path).read_text(encoding="utf-8"))
        self.mems = []

    def get_mems(self):
        return self.mems


def _bits(*names):
    return sum(1 << CTRL.bit(name) for name in names)


class run:
    """Launches ``kernel`` by its control registers, as pyxrt's run. Arguments, buffers or 32-bit
    numbers, are set by their index in the description, and stay set for the next launch."""

    def __init__(self, kernel):
        self._kernel, self._state = kernel, ert_cmd_state.ERT_CMD_STATE_NEW
        self._arguments = kernel.description.arguments
        self._values, self._buffers = {}, {}
        self._control = None

    def set_arg(self, index, value):
        """``value``: an int, or a buffer, which the run keeps."""
        address = getattr(value, "address", None)
        self._buffers[index] = value
        self._values[index] = address() if address else int(value) & _DEAD

    def start(self):
        for index, argument in enumerate(self._arguments):
            # Both words of a pointer: a card's memory may lie above 4 GB.
            for low in range(0, argument.size, 4):
                word = self._values[index] >> 8 * low & _DEAD
                self._kernel.write(argument.offset + low, word)
        self._kernel.read(CTRL.offset)  # what an abandoned launch may have left of ap_done
        self._kernel.write(CTRL.offset, _bits("ap_start"))
        self._state = _RUNNING

    def wait(self, timeout_ms=0):
        """Reads the register CTRL until the launch has ended, for at most ``timeout_ms``; 0 stands
        for no limit. Returns the launch's state, ERT_CMD_STATE_TIMEOUT if it has not ended."""
        deadline = time.monotonic() + timeout_ms / 1000
        while self._state == _RUNNING:
            self._control = self._kernel.read(CTRL.offset)
            if self._control == _DEAD:
                self._state = ert_cmd_state.ERT_CMD_STATE_ERROR
            elif self._control & _bits("ap_done"):
                # Kept here: the read has cleared the bit.
                self._state = ert_cmd_state.ERT_CMD_STATE_COMPLETED
            elif timeout_ms and time.monotonic() >= deadline:
                return ert_cmd_state.ERT_CMD_STATE_TIMEOUT
            else:
                time.sleep(_PAUSE_S)
        return self._state

    def state(self):
        self.wait(1e-3)
        return self._state

    def report(self):
        """The last value of CTRL, as text."""
        if self._control == _DEAD:
            return "CTRL reads 0xffffffff: no kernel at its address"
        seen = [bit.name for bit in CTRL.bits if (self._control or 0) >> bit.bit & 1]
        return f"CTRL reads {self._control or 0:#x} ({', '.join(seen) or 'no bit set'})"
