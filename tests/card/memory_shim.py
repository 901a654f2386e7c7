"""The memory of one master of the simulated card, clocked by hand."""

import ctypes
import random

import numpy as np

from sim.card.memory import CHANNELS
from sim.card.verilated import _Buffer, _faults, _Settings

__all__ = ["BASE", "BEAT", "MASTERS", "SIZE", "Bench", "Signals"]

BASE, SIZE, BEAT = 1 << 36, 1 << 16, 64
#: The memory is that of the first.
MASTERS = ["m_axi_test", "m_axi_other"]
BYTES = (
    "awvalid awready awlen awsize awburst awid arvalid arready arlen arsize arburst arid "
    "wvalid wready wlast bvalid bready bresp rvalid rready rlast rresp"
).split()


class Signals(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_uint64) for name in ("awaddr", "araddr")),
        *((name, ctypes.c_uint8) for name in BYTES),
        *((name, ctypes.c_uint8 * size) for name, size in (("wstrb", 8), ("wdata", 64))),
        ("rdata", ctypes.c_uint8 * 64),
    ]


class Bench:
    """The memory of one master over ``SIZE`` random bytes, clocked by hand."""

    def __init__(self, library, *, readable=1, writable=1, faults=(), **settings):
        self.library = library
        self.bytes = np.random.default_rng(0).integers(0, 256, SIZE, dtype=np.uint8)
        values = dict(read_latency=20, write_latency=10, outstanding=64, bandwidth=65536) | settings
        values |= dict(faults=_faults(faults, MASTERS), fault_count=len(faults))
        buffer = _Buffer(BASE, SIZE, self.bytes.ctypes.data, readable, writable)
        opened = library.shim_open(ctypes.byref(_Settings(**values)), ctypes.byref(buffer))
        self.shim = ctypes.c_void_p(opened)
        self.s = library.shim_signals(self.shim).contents
        self.s.arsize = self.s.awsize = 6
        self.s.arburst = self.s.awburst = 1
        self.s.wstrb[:] = [255] * 8
        self.cycle = 0

    def clock(self):
        self.library.shim_clock(self.shim)
        self.cycle += 1

    @property
    def violation(self):
        return self.library.shim_violation(self.shim).decode()

    def read_all(self, bursts, gap=0.0, seed=0):
        """Read ``(address, beats)`` as fast as AR allows; bytes, clocks, responses of the beats."""
        rng, s, data, seen, answers = random.Random(seed), self.s, [], [], []
        waiting, want = list(bursts), sum(beats for _, beats in bursts)
        for _ in range(200_000):
            if len(data) == want:
                return data, seen, answers
            if not s.arvalid and waiting and rng.random() >= gap:
                s.araddr, s.arlen, s.arvalid = waiting[0][0], waiting[0][1] - 1, 1
            s.rready = rng.random() >= gap
            if s.rvalid and s.rready:
                data.append((bytes(s.rdata), s.rlast))
                seen.append(self.cycle)
                answers.append(s.rresp)
            taken = s.arvalid and s.arready
            self.clock()
            if taken:
                waiting.pop(0)
                s.arvalid = 0
                if not gap and waiting:
                    s.araddr, s.arlen, s.arvalid = waiting[0][0], waiting[0][1] - 1, 1
            assert not self.violation
        raise AssertionError(f"R stands still after {len(data)} of {want} beats")

    def write_all(self, bursts, data, gap=0.0, seed=0):
        """Write ``(address, beats)``; the clocks of the answers. The beats come from ``data``."""
        rng, s, answers, beat = random.Random(seed), self.s, [], 0
        waiting, words = list(bursts), [n for _, n in bursts]
        for _ in range(200_000):
            if len(answers) == len(bursts):
                return answers
            if not s.awvalid and waiting and rng.random() >= gap:
                s.awaddr, s.awlen, s.awvalid = waiting[0][0], waiting[0][1] - 1, 1
            s.wvalid = bool(words)
            if words:
                s.wdata[:] = data[0]
                s.wlast = beat + 1 == words[0]
            s.bready = rng.random() >= gap
            if s.bvalid and s.bready:
                answers.append((self.cycle, s.bresp))
            address, word = s.awvalid and s.awready, s.wvalid and s.wready
            self.clock()
            if address:
                waiting.pop(0)
                s.awvalid = 0
            if word:
                data = data[1:]
                beat += 1
                if beat == words[0]:
                    words.pop(0)
                    beat = 0
            assert not self.violation
        raise AssertionError(f"B stands still after {len(answers)} of {len(bursts)} bursts")

    def traffic(self, clocks):
        """Read a beat and write a beat whenever the memory lets; by channel, when it moved."""
        s, moved = self.s, {channel: [] for channel in CHANNELS}
        s.araddr, s.awaddr = BASE, BASE + SIZE // 2
        s.arvalid = s.awvalid = s.wvalid = s.wlast = s.rready = s.bready = 1
        for _ in range(clocks):
            for channel, cycles in moved.items():
                if getattr(s, f"{channel.lower()}valid") and getattr(s, f"{channel.lower()}ready"):
                    cycles.append(self.cycle)
            self.clock()
            assert not self.violation
        return moved
