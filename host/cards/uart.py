"""Card ``uart:PORT``: a kernel on a board at the other end of a serial line, as on a ULX3S.

pyxrt's names over ``host.cards.serial_line``. The board tells how large its memory banks are, one
behind each of the kernel's masters. Its bitstream is loaded by another program (openFPGALoader).
"""

import numpy as np

from host.cards import CardError, HashMismatch
from host.cards.register_control import run, xclbin
from host.cards.serial_line import Line
from hw.shell.control_map import CTRL
from hw.uart.config import BAUD
from hw.uart.protocol import (
    BANK_TARGET,
    IDENTITY,
    IDENTITY_TARGET,
    MAGIC,
    TARGET_SHIFT,
    VERSION,
)
from sim.card.buffer import xclBOSyncDirection
from sim.card.memory import Allocator, Bank

__all__ = ["bo", "device", "hw_context", "kernel", "run", "xclBOSyncDirection", "xclbin"]


class device:
    """The board at the serial port ``port``; its kernel is reset when this object is made, unless
    ``resets`` is False, for a program that only looks at it.

    CardError if the board's bitstream is of another version of rlfabric, and as for ``Line``.

    Members
    -------
    line : Line
        The open serial line.
    identity : IDENTITY record
        What the board says of itself.
    banks : list of Allocator
        For each of the board's memory banks, which parts are in use.
    """

    def __init__(self, port, *, resets=True):
        self.line = Line(port, baud=BAUD)
        try:
            if resets:
                self.line.reset()
            self._introduce()
        except BaseException:
            self.line.close()
            raise

    def _introduce(self):
        raw = self.line.read(IDENTITY_TARGET << TARGET_SHIFT, IDENTITY.size)
        self.identity = identity = np.frombuffer(raw, IDENTITY.dtype)[0]
        for name, expected in (("magic", MAGIC), ("version", VERSION)):
            if identity[name] != expected:
                raise CardError(
                    f"{name} must be {expected:#x}, not {int(identity[name]):#x}: the bitstream "
                    f"of the board at {self.line.port} is of another version of rlfabric"
                )
        for name in ("payload", "backlog"):
            if not identity[name]:
                raise CardError(
                    f"{name} must be above 0, not as the board at {self.line.port} says"
                )
        self.line.payload, self.line.backlog = int(identity["payload"]), int(identity["backlog"])
        self.banks = [
            Allocator(Bank(f"BRAM[{index}]", int(size)), BANK_TARGET + index << TARGET_SHIFT)
            for index, size in enumerate(identity["banks"][: identity["bank_count"]])
        ]

    def close(self):
        self.line.close()


class hw_context:
    """The pair of ``owner``, a device, and the description in ``binary``, an xclbin. HashMismatch
    if the board's kernel has another config hash than this description."""

    def __init__(self, owner, binary):
        expected, found = binary.description.config_hash, int(owner.identity["config_hash"])
        if found != expected:
            raise HashMismatch(
                f"config_hash must be {expected:#018x} as described, not {found:#018x}: the board "
                f"at {owner.line.port} has a kernel of another config or version; build and load "
                "it again"
            )
        self.device, self.description = owner, binary.description
        binary.mems = [allocator.mem(index) for index, allocator in enumerate(owner.banks)]


class kernel:
    """The control registers of the board's kernel.

    Members
    -------
    description : KernelDescription
        The description that the kernel was loaded with.
    """

    def __init__(self, context, name):
        self.description, self._line = context.description, context.device.line
        self._groups = {
            argument: bank
            for bank, master in enumerate(self.description.masters)
            for argument in master.arguments
        }
        self._written = {}  # nobody else writes arguments, and each write is a trip

    def read(self, offset):
        if offset != CTRL.offset:
            return int.from_bytes(self._line.read(offset, 4), "little")
        # All bits are in one byte, and each byte that is read clears ap_done. Where the reply to a
        # read was lost, and ap_done with it, an idle kernel says the same.
        value = self._line.read(offset, 1)[0]
        idle, done = (1 << CTRL.bit(name) for name in ("ap_idle", "ap_done"))
        return value | done if value & idle else value

    def write(self, offset, value):
        if offset == CTRL.offset:
            self._line.write(offset, bytes([value]))
        elif self._written.get(offset) != value:
            self._line.write(offset, value.to_bytes(4, "little"))
            self._written[offset] = value

    write_register = write  # as pyxrt's

    def group_id(self, index):
        return self._groups[self.description.arguments[index].name]


class bo:
    """``bo(device, size, flags, group)``: a buffer of ``size`` bytes in the board's memory bank
    ``group``, with a copy on the host; ``sync`` copies from one to the other."""

    normal = 0

    def __init__(self, owner, size, flags, group):
        self._line, self._allocator = owner.line, owner.banks[group]
        self._address = self._allocator.allocate(size)
        self._host = np.zeros(size, np.uint8)

    def __del__(self):
        if hasattr(self, "_address"):
            self._allocator.release(self._address)

    def size(self):
        return len(self._host)

    def address(self):
        return self._address

    def map(self):
        return memoryview(self._host)

    def sync(self, direction, size=None, offset=0):
        size = self.size() - offset if size is None else size
        part, address = self._host[offset : offset + size], self._address + offset
        if direction == xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE:
            self._line.write(address, part.tobytes())
        else:
            part[:] = np.frombuffer(self._line.read(address, size), np.uint8)
