"""The simulated card under pyxrt's own names, with pyxrt's own limits.

``device(backend="sim")`` runs the generated Verilog, ``device(backend="model")`` its twin, with the
same code around. ``xclbin`` takes the path of a kernel description, the Verilog beside it.

Beyond pyxrt: the keywords and ``close`` of ``device``; ``twin`` of ``kernel``, the kernel's twin
("model"; else None); ``cycles`` and ``report()`` of ``run``.
Different from pyxrt: a buffer in the wrong bank is refused, while XRT warns and copies;
``run.state`` lets simulated time pass; the wait for a launch that stands still ends with
NORESPONSE, and with ERROR if the launch breaks an AXI rule.

Source: XRT, src/python/pybind11/src/pyxrt.cpp.
"""

import hashlib
from enum import IntEnum
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from hw.errors import UsageError
from hw.shell.description import KernelDescription
from sim.card.buffer import bo, xclBOSyncDirection
from sim.card.memory import BANKS, Allocator, Buffer, MemoryConfig
from sim.card.modelled import ModelledKernel
from sim.card.verilated import Outcome, VerilatedKernel

__all__ = [
    "XCL_BO_FLAGS_NONE",
    "bo",
    "device",
    "ert_cmd_state",
    "hw_context",
    "kernel",
    "run",
    "uuid",
    "xclBOSyncDirection",
    "xclbin",
]

XCL_BO_FLAGS_NONE = 0

# Bank 0 starts here: kernels must use all 64 bits of their pointers, and none may be null.
_BASE = 1 << 36

ert_cmd_state = IntEnum(
    "ert_cmd_state",
    {
        f"ERT_CMD_STATE_{name}": value
        for name, value in (
            *(("NEW", 1), ("QUEUED", 2), ("COMPLETED", 4), ("ERROR", 5), ("ABORT", 6)),
            *(("SUBMITTED", 7), ("TIMEOUT", 8), ("NORESPONSE", 9), ("SKERROR", 10)),
            ("SKCRASHED", 11),
        )
    },
)
# pyxrt does not export this state, but returns it.
_RUNNING = 3
_COMPLETED = ert_cmd_state.ERT_CMD_STATE_COMPLETED
_UNDER_WAY, _DONE = Outcome.RUNNING, Outcome.DONE
_STATES = {
    Outcome.STALLED: ert_cmd_state.ERT_CMD_STATE_NORESPONSE,
    Outcome.VIOLATION: ert_cmd_state.ERT_CMD_STATE_ERROR,
}


class uuid:
    def __init__(self, text):
        self._text = text

    def to_string(self):
        return self._text


class xclbin:
    """The kernel described in the file ``path``; ``get_mems``: the banks of the device it is on."""

    def __init__(self, path):
        self._path = Path(path)
        self._description = KernelDescription.from_json(self._path.read_text(encoding="utf-8"))
        self._mems = []

    @property
    def _verilog(self):
        return (self._path.parent / self._description.verilog).read_text(encoding="utf-8")

    def get_uuid(self):
        digest = hashlib.md5(self._description.to_json().encode()).hexdigest()
        return uuid(
            "-".join(digest[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))
        )

    def get_kernels(self):
        description = self._description
        return [SimpleNamespace(get_name=lambda: description.name,
                                get_num_args=lambda: len(description.arguments))]  # fmt: skip

    def get_mems(self):
        return self._mems


class device:
    """A card with one kernel at a time.

    Parameters
    ----------
    index : int
        As in pyxrt; every simulated device is a card of its own.
    backend : str
        "sim" (Verilated RTL) or "model" (twin).
    memory : MemoryConfig
        Timing, stalls, faults of memory ("sim" alone); noise where buffers begin (both).
    banks : sequence of Bank, by number
    connectivity : dict of str to int
        ``{master: bank}``; others have the bank of their own number, or the last bank.
    trace : path or None
        Waveform to write ("sim").
    trace_launches : int or None
        Launches after which the waveform ends; None: it never ends.
    """

    def __init__(self, index=0, *, backend="sim", memory=None, banks=BANKS, connectivity=None,
                 trace=None, trace_launches=None):  # fmt: skip
        if backend not in ("sim", "model"):
            raise UsageError(f"backend must be sim or model, not {backend!r}")
        self._backend, self._trace = backend, (trace, trace_launches)
        self._memory = memory or MemoryConfig()
        self._connectivity = connectivity or {}
        bases = accumulate((bank.size for bank in banks), initial=_BASE)
        self._banks = [Allocator(bank, base) for bank, base in zip(banks, bases, strict=False)]
        self._xclbin = self._kernel = None
        self._registered = {}

    def _begin(self, address, size):
        """The device's bytes of a new buffer."""
        if not self._memory.noise:
            return np.zeros(size, np.uint8)
        noise = np.random.default_rng((self._memory.seed, address)).bytes(size)
        return np.frombuffer(bytearray(noise), np.uint8)

    def register_xclbin(self, binary):
        self._registered[binary.get_uuid().to_string()] = binary
        return binary.get_uuid()

    def load_xclbin(self, binary):
        binary = binary if isinstance(binary, xclbin) else xclbin(binary)
        identifier = self.register_xclbin(binary)
        description = binary._description
        self.close()
        self._groups = {}
        for position, master in enumerate(description.masters):
            bank = self._connectivity.get(master.name, min(position, len(self._banks) - 1))
            self._groups |= dict.fromkeys(master.arguments, bank)
        if self._backend == "sim":
            self._kernel = VerilatedKernel(description, binary._verilog, self._memory, *self._trace)
        else:
            self._kernel = ModelledKernel(description)
        self._xclbin = binary
        binary._mems = [allocator.mem(index) for index, allocator in enumerate(self._banks)]
        return identifier

    def get_xclbin_uuid(self):
        return self._xclbin.get_uuid()

    def traffic(self):
        """Bytes that a "sim" card's memory has sent and taken so far: ``{(master, "R" or "W"):
        bytes}``. XRT has no such call."""
        beats = self._kernel.channels()
        return {
            (master.name, channel): beats[master.name, channel].beats * master.data_width // 8
            for master in self._xclbin._description.masters
            for channel in ("R", "W")
        }

    def close(self):
        if self._kernel:
            self._kernel.close()
            self._kernel = None


class hw_context:
    """``hw_context(device, uuid)`` of XRT 2.16, ``hw_context(device, xclbin or path)`` of 2.23."""

    def __init__(self, owner, binary):
        if isinstance(binary, uuid):
            binary = owner._registered[binary.to_string()]
        owner.load_xclbin(binary)
        self._device = owner


class kernel:
    """A loaded kernel: ``kernel(device, uuid, name, mode)`` or ``kernel(hw_context, name)``.

    From XRT 2022.1 on ``mode`` may be left out; here it may not, as in older releases.
    """

    exclusive, shared, none = range(3)
    cu_access_mode = SimpleNamespace(exclusive=0, shared=1, none=2)

    def __init__(self, owner, *arguments):
        if isinstance(owner, hw_context):
            self._device, (name,) = owner._device, arguments
        else:
            if len(arguments) != 3:
                raise TypeError("incompatible constructor arguments: device, uuid, name, mode")
            self._device, (_, name, _) = owner, arguments
        self._description = self._device._xclbin._description
        if name.split(":")[0] != self._description.name:
            raise RuntimeError(f"No such kernel '{name}'")

    @property
    def twin(self):
        return getattr(self._device._kernel, "twin", None)

    def group_id(self, index):
        argument = self._description.arguments[index]
        if argument.kind != "pointer":
            raise RuntimeError(f"argument {index} ({argument.name}) has no memory")
        return self._device._groups[argument.name]

    def write_register(self, offset, value):
        """Writes a control register ("sim")."""
        self._device._kernel.write(offset, value)

    def __call__(self, *arguments):
        """Starts a run and returns it. As in pyxrt, arguments neither buffer nor int32 stay 0."""
        launched = run(self)
        for index, value in enumerate(arguments):
            try:
                launched.set_arg(index, value)
            except TypeError:
                continue
        launched.start()
        return launched


class run:
    """A launch and its arguments; ``cycles``: its clocks once ``wait`` saw its end, else None."""

    def __init__(self, of):
        self._kernel, self._device = of, of._device
        self._arguments = of._description.arguments
        self._values = {argument.name: 0 for argument in self._arguments}
        self._buffers, self._shown = {}, None
        self._state, self.cycles = ert_cmd_state.ERT_CMD_STATE_NEW, None

    def set_arg(self, index, value):
        argument = self._arguments[index]
        if not isinstance(value, bo):
            self._values[argument.name] = _int32(value) & 0xFFFFFFFF
            if self._buffers.pop(argument.name, None) is not None:
                self._shown = None
            return
        group = self._kernel.group_id(index)
        if value._group != group:
            raise RuntimeError(f"{argument.name} must be in bank {group}, not {value._group}")
        self._values[argument.name] = value.address()
        self._buffers[argument.name], self._shown = value, None

    def start(self):
        self._shown = self._shown or self._held_buffers()
        self.cycles = None
        self._device._kernel.start(self._values, self._shown)
        self._state = _RUNNING

    def _held_buffers(self):
        """The buffers that the kernel may use; arguments of a master that share a buffer give one
        ``Buffer``."""
        buffers = {}
        for argument in self._arguments:
            held = self._buffers.get(argument.name)
            if held is not None:
                key = argument.master, held.address(), held.size()
                seen = buffers.get(key, Buffer(argument.master, held.address(), held._card, 0, 0))
                buffers[key] = seen._replace(
                    readable=seen.readable or "r" in argument.access,
                    writable=seen.writable or "w" in argument.access,
                )
        return list(buffers.values())

    def wait(self, timeout_ms=0):
        """Simulates to the end, or for ``timeout_ms`` of real time (0: no limit); the state."""
        if self._state == _RUNNING:
            engine = self._device._kernel
            outcome = engine.wait(timeout_ms / 1000 if timeout_ms else None)
            if outcome is _UNDER_WAY:
                return ert_cmd_state.ERT_CMD_STATE_TIMEOUT
            done = outcome is _DONE
            self._state = _COMPLETED if done else _STATES[outcome]
            self.cycles = engine.cycles if done else None
        return self._state

    def state(self):
        self.wait(1e-3)
        return self._state

    def report(self):
        """The AXI rule that was broken, or which channels stand still."""
        return self._device._kernel.report()


def _int32(value):
    """A number that pybind11 accepts as a C int of 32 bits; TypeError for others, and floats."""
    numeric = hasattr(value, "__index__") or hasattr(value, "__int__")
    if isinstance(value, float) or not numeric or not -(2**31) <= int(value) < 2**31:
        raise TypeError(f"incompatible function arguments: {value!r}")
    return int(value)
