"""A stand-in for the package pynq: a Zynq whose overlay's registers start a kernel's twin."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
from card.copy_kernel import CopyConfig, CopyTwin, describe

from hw.shell.control_map import CTRL
from sim.card.memory import Buffer, Memory

__all__ = ["CONTROLLER", "DESCRIPTION", "DONE", "SHARED", "SHARED_SIZE", "Board", "Clocks"]

BASE, RANGE = 0xA0000000, 4096
SHARED, SHARED_SIZE = 0xA0100000, 1 << 16
CONTROLLER = "xilinx.com:ip:axi_bram_ctrl:4.1"
START, DONE = 1, 2
DESCRIPTION = describe(CopyConfig(data_width=128))


class Data(np.ndarray):
    """What ``pynq.allocate`` returns: what is not flushed, the logic does not see."""

    def __array_finalize__(self, parent):
        for name in ("board", "cell", "start"):
            setattr(self, name, getattr(parent, name, None))
        if self.cell is not None and self.base is not None:
            first = self.__array_interface__["data"][0] - parent.__array_interface__["data"][0]
            self.start = parent.start + first

    @property
    def device_address(self):
        return self.cell.address + self.start

    def flush(self):
        self.cell.data[self.start : self.start + self.size] = self

    def invalidate(self):
        self[:] = self.cell.data[self.start : self.start + self.size]


class Words:
    """What ``pynq.MMIO(...).array`` is of memory on chip: faults where NumPy may copy by memcpy."""

    def __init__(self, data):
        self.words, self.stuck = data.view(np.uint32), False

    def __setitem__(self, index, value):
        assert isinstance(index, int) and 0 <= index < len(self.words), "bus error"
        if not self.stuck:
            self.words[index] = value

    def __getitem__(self, index):
        if isinstance(index, int):
            return self.words[index]
        assert index.step is None and 0 <= index.start < index.stop <= len(self.words), "bus error"
        return SimpleNamespace(tolist=self.words[index].tolist)


class Clocks:
    """``pynq.Clocks``: what is written are two dividers of a PLL that is what it is."""

    def __init__(self, pll, divider):
        self.pll, self.divider, self.written = pll, divider, []

    @property
    def fclk0_mhz(self):
        return round(self.pll / self.divider, 6)

    @fclk0_mhz.setter
    def fclk0_mhz(self, wanted):
        self.written.append(wanted)
        divider = round(self.pll / wanted)
        if not 0 < divider < 64 * 64:
            raise ValueError("Frequency divider 0 value out of range.")
        self.divider = divider


class Board:
    """The board's logic and memory, with the names of the package pynq."""

    def __init__(self):
        self.twin, self.registers, self.cells, self.log = CopyTwin(DESCRIPTION), {}, [], []
        self.types = ["xilinx.com:ip:zynq_ultra_ps_e:3.4", "rlfabric:kernel:copy:1.0"]
        self.busy_reads, self.stuck, self.dead = 0, False, False
        self.Clocks = Clocks(1499.985, 8)
        self.shared = np.full(SHARED_SIZE, 0xEE, np.uint8)
        self.window = Words(self.shared)

    def Overlay(self, path):
        # PYNQ 3.0 and 3.1: a .xsa of this name makes the .bit the metadata, which it cannot read.
        if Path(path).with_suffix(".xsa").exists():
            raise RuntimeError(f"UnknownInputFileExtension: {Path(path).suffix}")
        if not Path(path).with_suffix(".hwh").exists():
            raise RuntimeError("no metadata")
        entries = {
            f"cell_{k}": {"type": kind, "phys_addr": BASE, "addr_range": RANGE}
            for k, kind in enumerate(self.types)
        }
        for entry in entries.values():
            if entry["type"] == CONTROLLER:
                entry |= {"phys_addr": SHARED, "addr_range": SHARED_SIZE}
        self.log.append(path)
        return SimpleNamespace(ip_dict=entries)

    def MMIO(self, base, size):
        if (base, size) == (SHARED, SHARED_SIZE):
            return SimpleNamespace(array=self.window)
        assert (base, size) == (BASE, RANGE)
        return SimpleNamespace(read=self.read, write=self.write)

    def allocate(self, size, dtype):
        if size > 1 << 20:
            raise RuntimeError("Failed to allocate Memory!")
        # Above 4 GB: both words of a pointer count.
        address = (8 << 32) + (len(self.cells) << 24)
        self.cells.append(SimpleNamespace(address=address, data=np.full(size, 0xEE, np.uint8)))
        data = np.zeros(size, dtype).view(Data)
        data.board, data.cell, data.start = self, self.cells[-1], 0
        return data

    def read(self, offset):
        if self.dead:
            return 0xFFFFFFFF
        if offset != CTRL.offset:
            return self.registers.get(offset, 0)
        value = self.registers.get(offset, 4)
        if value & START and not self.stuck:
            self.busy_reads -= 1
            if self.busy_reads == 0:
                self.run()
                value = DONE | 4
        self.registers[offset] = value & ~DONE
        return value

    def write(self, offset, value):
        assert 0 <= value < 1 << 32 and offset % 4 == 0
        if offset == CTRL.offset:
            self.busy_reads = 3
            value |= self.registers.get(offset, 0) & DONE  # only a read clears it
        self.registers[offset] = value

    def run(self):
        values = {}
        for argument in DESCRIPTION.arguments:
            words = [self.registers[argument.offset + k] for k in range(0, argument.size, 4)]
            values[argument.name] = sum(word << 32 * k for k, word in enumerate(words))
        buffers = [Buffer("m_axi_host", cell.address, cell.data, 1, 1) for cell in self.cells]
        if CONTROLLER in self.types:
            # The kernel has no way to the processor's memory.
            buffers = [Buffer("m_axi_host", SHARED, self.shared, 1, 1)]
        self.twin.execute(values, Memory(buffers))
