"""Card ``pynq:BITFILE``: a kernel in the logic of a Zynq, driven by the processor beside it.

pyxrt's names over PYNQ, for programs that run on the board itself: the overlay is loaded from
BITFILE and the .hwh beside it, registers are read and written through ``pynq.MMIO``, buffers are
``pynq.allocate``'s. There is one memory and one copy of its bytes: ``sync`` writes the processor's
cache back, or drops it.

Source: PYNQ 3, documentation of Overlay, MMIO and allocate.
"""

from pathlib import Path

import numpy as np

from host.cards.registers import run
from hw.shell.description import KernelDescription
from sim.card.buffer import xclBOSyncDirection
from sim.tools import MissingTool

__all__ = ["bo", "device", "hw_context", "kernel", "run", "xclBOSyncDirection", "xclbin"]


class device:
    """The programmable logic, loaded with the bitstream at ``path``."""

    def __init__(self, path):
        path = Path(path)
        for each in (path, path.with_suffix(".hwh")):
            if not each.exists():
                raise FileNotFoundError(
                    f"{each} must be built first (make bitstream BOARD=zcu106), not missing"
                )
        try:
            import pynq
        except ImportError as error:
            raise MissingTool(
                "pynq must be importable for card pynq (run on the board itself, in PYNQ's own "
                f"Python environment), not missing: {error}"
            ) from error
        self.pynq = pynq
        self.overlay = pynq.Overlay(str(path))


class xclbin:
    """The kernel description at ``path``; PYNQ tells nothing of the size of its memory."""

    def __init__(self, path):
        self.description = KernelDescription.from_json(Path(path).read_text())

    def get_mems(self):
        return []


class hw_context:
    def __init__(self, owner, binary):
        self.device, self.description = owner, binary.description


class kernel:
    """The registers of the overlay's IP whose type names the kernel.

    Members
    -------
    description : KernelDescription
    """

    def __init__(self, context, name):
        self.description = context.description
        entries = context.device.overlay.ip_dict
        found = [e for e in entries.values() if e["type"].split(":")[2:3] == [name]]
        if len(found) != 1:
            raise RuntimeError(
                f"the overlay must have one kernel {name}, not {len(found)}; "
                f"it has {', '.join(sorted(entries)) or 'none at all'}"
            )
        entry = found[0]
        self._registers = context.device.pynq.MMIO(entry["phys_addr"], entry["addr_range"])

    def read(self, offset):
        return self._registers.read(offset)

    def write(self, offset, value):
        self._registers.write(offset, value)

    def group_id(self, index):
        return 0


class bo:
    """``bo(device, size, flags, group)``: physically contiguous bytes."""

    normal = 0

    def __init__(self, owner, size, flags, group):
        try:
            self._data = owner.pynq.allocate(size, dtype=np.uint8)
        except (MemoryError, RuntimeError) as error:
            raise RuntimeError(
                f"size must fit what is left of the board's contiguous memory, not {size} bytes "
                f"(boot with a larger cma=...): {error}"
            ) from error

    def size(self):
        return self._data.size

    def address(self):
        return self._data.device_address

    def map(self):
        return memoryview(self._data)

    def sync(self, direction, size=None, offset=0):
        size = self.size() - offset if size is None else size
        part = self._data[offset : offset + size]
        if direction == xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE:
            part.flush()
        else:
            part.invalidate()
