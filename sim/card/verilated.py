"""A kernel compiled with Verilator, driven as XRT drives one: registers, start, wait, interrupt."""

import ctypes
import time
from enum import IntEnum

from hw.errors import UsageError
from sim.card.build import build
from sim.card.memory import CHANNELS, RESPONSES, WRITE_ORDERS
from sim.verilate import loaded

__all__ = ["Outcome", "VerilatedKernel"]

# Seconds between two checks of the time and of Python's signals, whatever the kernel's size; clocks
# of the kernel before the first check.
_SLICE_S, _FIRST_SLICE = 0.05, 2000


class Outcome(IntEnum):
    """The state of a launch.

    RUNNING: it has not ended. DONE: it has ended. STALLED: there was no AXI transfer for
    ``MemoryConfig.max_idle`` clocks. VIOLATION: the kernel broke a rule of AXI.
    """

    RUNNING = 0
    DONE = 1
    STALLED = 2
    VIOLATION = 3


def _structure(name, **fields):
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64
# As in memory.hpp and faults.hpp.
_Buffer = _structure(
    "Buffer", address=_u64, size=_u64, data=ctypes.c_void_p, readable=_u32, writable=_u32
)
_Fault = _structure(
    "Fault", master=_u32, channel=_u32, response=_u32, cycle=_u64, until=_u64, skip=_u64,
    count=_u64, address=_u64, last=_u64,
)  # fmt: skip
_Settings = _structure(
    "Settings", read_latency=_u32, write_latency=_u32, outstanding=_u32, write_order=_u32,
    write_wait=_u32, bandwidth=_u32, stall=_u32, pause=_u32, period=_u32, fault_count=_u32,
    noise=_u32, seed=_u64, faults=ctypes.POINTER(_Fault),
)  # fmt: skip
_Channel = _structure("Channel", beats=_u64, idle=_u64, valid=_u32, ready=_u32, pending=_u32)


def _faults(faults, masters):
    """The C array of ``faults``; ``masters`` are the masters' names."""
    endless = 2**64 - 1
    rows = []
    for fault in faults:
        if fault.master not in masters:
            raise UsageError(f"master must be one of {', '.join(masters)}, not {fault.master!r}")
        rows.append(
            _Fault(
                master=masters.index(fault.master),
                channel=CHANNELS.index(fault.channel),
                response=RESPONSES[fault.response] if fault.kind == "error" else 0,
                cycle=fault.cycle,
                until=endless if fault.until is None else fault.until,
                skip=fault.skip,
                count=endless if fault.count is None else fault.count,
                address=fault.address,
                last=endless if fault.size is None else fault.address + fault.size - 1,
            )
        )
    return (_Fault * len(rows))(*rows)


def _load(path):
    library, handle = loaded(path), ctypes.c_void_p
    for name, result, *arguments in (
        ("open", handle, ctypes.POINTER(_Settings), ctypes.c_char_p),
        ("close", None, handle),
        ("end_trace", None, handle),
        ("buffers", None, handle, _u32, ctypes.POINTER(_Buffer), _u32),
        ("write", None, handle, ctypes.POINTER(_u32), ctypes.POINTER(_u32), _u32),
        ("reset", None, handle, _u32),
        ("start", None, handle),
        ("run", ctypes.c_int, handle, _u64, _u64),
        ("cycles", _u64, handle),
        ("violation", ctypes.c_char_p, handle),
        ("channels", None, handle, ctypes.POINTER(_Channel)),
    ):
        function = getattr(library, f"card_{name}")
        function.restype, function.argtypes = result, arguments
    return library


class VerilatedKernel:
    """One instance of a kernel's RTL; its registers and memories last until ``close``.

    Parameters
    ----------
    description : hw.shell.description.KernelDescription
        The kernel's description.
    verilog : str
        Its RTL, as a text.
    memory : sim.card.memory.MemoryConfig
        Timing, stalls and faults of the memory.
    trace : path or None
        Write a waveform (VCD) there; a separate, slower build.
    trace_launches : int or None
        The number of launches after which the waveform ends, because it grows with every clock.
    """

    def __init__(self, description, verilog, memory, trace=None, trace_launches=None):
        self.description, self.memory, self._card = description, memory, None
        self._masters = [master.name for master in description.masters]
        faults = _faults(memory.faults, self._masters)
        settings = _Settings(
            memory.read_latency, memory.write_latency, memory.outstanding,
            WRITE_ORDERS.index(memory.write_order), memory.write_wait,
            max(1, round(memory.bandwidth * 65536)), round(memory.stall * 65536),
            memory.pause, memory.period, len(faults), memory.noise, memory.seed, faults,
        )  # fmt: skip
        self._library = _load(build(description, verilog, trace=trace is not None))
        self._card = self._library.card_open(settings, str(trace or "").encode())
        self._registers, self._tables, self._buffers = {}, None, ()
        self.outcome, self._simulating = Outcome.DONE, False
        self._traced, self._slice = trace_launches, _FIRST_SLICE
        self._check()

    def start(self, values, buffers):
        """Begins a launch; RuntimeError unless the last one has ended with DONE.

        ``values`` is ``{argument's name: int}`` of all arguments; ``buffers`` is a list of
        ``sim.card.memory.Buffer``, the only memory that the kernel may use.
        """
        if self.outcome is not Outcome.DONE:
            raise RuntimeError(
                f"kernel must be idle, not {self.outcome.name} ({self.report()}): load it again"
            )
        if self._traced is not None:
            if self._traced == 0:
                self._library.card_end_trace(self._card)
            self._traced -= 1
        self._show_buffers(buffers)
        self._write_registers(values)
        self._library.card_start(self._card)
        self.outcome = Outcome.RUNNING
        self._check()

    def _show_buffers(self, buffers):
        """Tells each master's memory which buffers it may use."""
        tables = [
            [
                (b.address, len(b.data), b.data.ctypes.data, b.readable, b.writable)
                for b in buffers
                if b.master == master
            ]
            for master in self._masters
        ]
        if tables != self._tables:
            for index, table in enumerate(tables):
                rows = (_Buffer * len(table))(*table)
                self._library.card_buffers(self._card, index, rows, len(rows))
        # The library holds pointers into these arrays until the next launch.
        self._tables, self._buffers = tables, buffers

    def _write_registers(self, values):
        """Write the words that differ from what the kernel already holds."""
        changed = {}
        for argument in self.description.arguments:
            for byte in range(0, argument.size, 4):
                word = values[argument.name] >> 8 * byte & 0xFFFFFFFF
                if self._registers.get(argument.offset + byte) != word:
                    changed[argument.offset + byte] = word
        words = _u32 * len(changed)
        self._library.card_write(
            self._card, words(*changed.keys()), words(*changed.values()), len(changed)
        )
        self._registers |= changed

    def write(self, offset, value):
        """Writes the control register at ``offset``, also while a launch is under way."""
        self._library.card_write(self._card, (_u32 * 1)(offset), (_u32 * 1)(value), 1)

    def wait(self, seconds=None):
        """Simulates until the launch ends, or until about ``seconds`` of real time have passed.

        None waits without a limit. Returns the ``Outcome``, which is RUNNING after the limit.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        while self.outcome is Outcome.RUNNING:
            began, self._simulating = time.monotonic(), True
            try:
                outcome = self._library.card_run(self._card, self._slice, self.memory.max_idle)
            finally:
                self._simulating = False
            self.outcome = Outcome(outcome)
            if self.outcome is Outcome.RUNNING:
                took = max(time.monotonic() - began, _SLICE_S / 4)
                self._slice = max(100, int(self._slice * _SLICE_S / took))
            if deadline is not None and time.monotonic() >= deadline:
                break
        return self.outcome

    def advance(self, clocks):
        """Simulates ``clocks`` clocks, or fewer if the launch ends before. Returns the
        ``Outcome``."""
        if self.outcome is Outcome.RUNNING:
            run = self._library.card_run
            self.outcome = Outcome(run(self._card, clocks, self.memory.max_idle))
        return self.outcome

    def reset(self, clocks=16):
        """Holds ``ap_rst_n`` low for ``clocks`` clocks, and drops what the memory owes the masters.

        A launch under way is lost, and the kernel is as after loading. Memory keeps its bytes.
        Clocks in reset are not counted.
        """
        self._library.card_reset(self._card, clocks)
        self._registers = {}
        self.outcome = Outcome.DONE
        self._check()

    @property
    def cycles(self):
        """Clocks of the last finished launch, from start to interrupt."""
        return self._library.card_cycles(self._card)

    def channels(self):
        """``{(master, channel): state}`` of every AXI channel, after the last clock simulated.

        A state has ``beats`` (transfers so far), ``idle`` (clocks since the last transfer),
        ``valid`` and ``ready`` (the signals), and ``pending`` (the beats of W and R, or answers of
        B, that accepted bursts still owe).
        """
        names = [(master, channel) for master in self._masters for channel in CHANNELS]
        states = (_Channel * len(names))()
        self._library.card_channels(self._card, states)
        return dict(zip(names, states, strict=True))

    def report(self):
        """A text: the AXI rule that was broken; if there is none, the channels that wait."""
        violation = self._library.card_violation(self._card).decode()
        if violation:
            return violation
        waiting = [
            f"{master} {channel} stands still: valid {s.valid}, ready {s.ready}, "
            f"{s.pending} owed, last transfer {s.idle} clocks ago"
            for (master, channel), s in self.channels().items()
            if (s.valid and not s.ready) or (s.pending and not s.valid)
        ]
        return "; ".join(waiting) or "no AXI channel waits: the kernel itself stands still"

    def close(self):
        # A thread that was left behind may still be in there; it ends with the process.
        if self._card and not self._simulating:
            self._library.card_close(self._card)
            self._card = None

    def __del__(self):
        self.close()

    def _check(self):
        if self._library.card_violation(self._card):
            self.outcome = Outcome.VIOLATION
