"""Card ``pynq:BITFILE``: a kernel in the logic of a Zynq, driven by the processor beside it.

pyxrt's names over PYNQ, for programs that run on the board itself: the overlay is loaded from
BITFILE and the .hwh beside it, registers are read and written through ``pynq.MMIO``. Buffers lie

- in the memory that the overlay has on chip for processor and kernel, where it has one: ``sync``
  moves words between it and a copy in the processor's memory;
- else in the processor's memory, ``pynq.allocate``'s, which is not cached by default and must stay
  so: there is one copy of their bytes. ``sync`` would write a cache back, or drop it, but PYNQ 3.1
  does so for the whole buffer whatever the part, and would drop what is dirty beside it.

Source: PYNQ 3, documentation of Overlay, MMIO and allocate.
"""

from pathlib import Path

import numpy as np

from host.cards import CardError
from host.cards.register_control import run, xclbin
from hw.errors import MissingTool
from sim.card.buffer import xclBOSyncDirection
from sim.card.memory import Allocator, Bank

__all__ = ["bo", "device", "hw_context", "kernel", "run", "xclBOSyncDirection", "xclbin"]


_WORD = 4

# A clock is read as a quotient of whole numbers, and written so.
_CLOCK_TOLERANCE = 1.001


def _entries(overlay, name):
    """The entries of the overlay's ``ip_dict`` whose type is called ``name``."""
    return [e for e in overlay.ip_dict.values() if e["type"].split(":")[2:3] == [name]]


def _check_clock(pynq, file):
    """CardError if the logic's clock is faster than the clock at which timing was met, which the
    build has written to ``file``.

    PYNQ sets a clock's dividers, but not the PLL before them, which the board's boot image chose.
    A slower clock gives right results, only later.
    """
    if not file.exists():
        return
    _, asked, actual, slack = file.read_text(encoding="utf-8").split()
    # A negative slack is of the period that was built for; a positive one is not relied upon.
    limit = 1000 / (1000 / float(actual) - min(0.0, float(slack)))
    if pynq.Clocks.fclk0_mhz > _CLOCK_TOLERANCE * limit:
        pynq.Clocks.fclk0_mhz = min(float(asked), limit)
    found = pynq.Clocks.fclk0_mhz
    if found > _CLOCK_TOLERANCE * limit:
        raise CardError(
            f"pl_clk0 must be at most {limit:.3f} MHz, at which the build met its timing, not "
            f"{found:.3f}: the boot image feeds it from another PLL than the design's"
        )


class device:
    """The programmable logic of a Zynq, which is loaded with the bitstream at ``path``.

    FileNotFoundError without the bitstream or the .hwh beside it, FileExistsError if there is an
    .xsa of the same name, MissingTool without pynq.

    Members
    -------
    shared : _Shared or None
        The memory on chip that kernel and processor both reach; None if the design has none.
    """

    def __init__(self, path):
        path = Path(path)
        for each in (path, path.with_suffix(".hwh")):
            if not each.exists():
                raise FileNotFoundError(
                    f"{each} must be built first (make bitstream BOARD=zcu106), not missing"
                )
        if path.with_suffix(".xsa").exists():
            raise FileExistsError(
                f"{path.with_suffix('.xsa')} must have another name or place, not lie beside "
                f"{path.name}: PYNQ 3.0 and 3.1 would take it for the overlay's, and refuse to load"
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
        _check_clock(pynq, path.with_name("clock.txt"))
        controllers = _entries(self.overlay, "axi_bram_ctrl")
        self.shared = _Shared(pynq, controllers[0]) if controllers else None


class _Shared:
    """Memory on chip that processor and kernel reach at the same address; also its entry in the
    list of memories.

    The processor sees it as a device, where an access that is not aligned is a bus error: words
    are moved one by one, never by a copy of a slice, which may take any width.
    """

    def __init__(self, pynq, entry):
        bank = Bank("URAM", entry["addr_range"])
        self.allocator = Allocator(bank, entry["phys_addr"])
        self._words = pynq.MMIO(entry["phys_addr"], entry["addr_range"]).array

    def get_index(self):
        return 0

    def get_tag(self):
        return self.allocator.bank.name

    def get_size_kb(self):
        return self.allocator.bank.size // 1024

    def write(self, address, data):
        """``data`` : uint8, whole words."""
        index = (address - self.allocator.base) // _WORD
        for word in data.view(np.uint32).tolist():
            self._words[index] = word
            index += 1
        # Registers are reached on another way, on which a start must not overtake the last word.
        if int(self._words[index - 1]) != word:
            raise CardError(
                f"memory at {address:#x} must hold what was written, {word:#x}, not "
                f"{int(self._words[index - 1]):#x}"
            )

    def read(self, address, size):
        index = (address - self.allocator.base) // _WORD
        words = self._words[index : index + size // _WORD].tolist()
        return np.array(words, np.uint32).view(np.uint8)


class hw_context:
    def __init__(self, owner, binary):
        self.device, self.description = owner, binary.description
        # PYNQ tells nothing of the size of the processor's memory.
        binary.mems = [owner.shared] if owner.shared else []


class kernel:
    """The kernel's control registers: those of the one IP of the overlay whose type is called
    ``name``. CardError unless there is exactly one such IP.

    Members
    -------
    description : KernelDescription
        The description that the kernel was loaded with.
    """

    def __init__(self, context, name):
        self.description = context.description
        overlay = context.device.overlay
        found = _entries(overlay, name)
        if len(found) != 1:
            raise CardError(
                f"the overlay must have one kernel {name}, not {len(found)}; "
                f"it has {', '.join(sorted(overlay.ip_dict)) or 'none at all'}"
            )
        entry = found[0]
        self._registers = context.device.pynq.MMIO(entry["phys_addr"], entry["addr_range"])

    def read(self, offset):
        return self._registers.read(offset)

    def write(self, offset, value):
        self._registers.write(offset, value)

    write_register = write  # as pyxrt's

    def group_id(self, index):
        return 0


class bo:
    """``bo(device, size, flags, group)``: ``size`` bytes that the kernel reaches, in the memory on
    chip if the device has ``shared``, else in the processor's memory. Flags and group are
    ignored."""

    normal = 0

    def __new__(cls, owner, *_):
        return object.__new__(_OnChip if owner.shared else _Allocated)


class _OnChip(bo):
    """A part of the memory on chip, and a copy of it."""

    def __init__(self, owner, size, flags, group):
        self._shared, self._size = owner.shared, size
        self._address = self._shared.allocator.allocate(size)
        self._host = np.zeros(-(-size // _WORD) * _WORD, np.uint8)

    def __del__(self):
        if hasattr(self, "_address"):
            self._shared.allocator.release(self._address)

    def size(self):
        return self._size

    def address(self):
        return self._address

    def map(self):
        return memoryview(self._host)[: self._size]

    def sync(self, direction, size=None, offset=0):
        """Moves whole words, so up to 3 bytes before and after the part come from the copy too."""
        end = self._size if size is None else offset + size
        first, last = offset // _WORD * _WORD, -(-end // _WORD) * _WORD
        if first == last:
            return
        if direction == xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE:
            self._shared.write(self._address + first, self._host[first:last])
        else:
            raw = self._shared.read(self._address + first, last - first)
            self._host[offset:end] = raw[offset - first : end - first]


class _Allocated(bo):
    """Physically contiguous bytes of the processor's memory."""

    def __init__(self, owner, size, flags, group):
        try:
            self._data = owner.pynq.allocate(size, dtype=np.uint8)
        except (MemoryError, RuntimeError) as error:
            raise CardError(
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
