"""Memory of the simulated card: its timing, its banks, and the part that one launch may use."""

from bisect import insort
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from hw.config import ConfigBase, check_range
from hw.errors import UsageError
from hw.shell.program import PAGE_BYTES

__all__ = ["BANKS", "CHANNELS", "RESPONSES", "Allocator", "Bank", "Buffer", "Fault", "Memory"]
__all__ += ["MemoryConfig"]

CHANNELS = ("AW", "W", "B", "AR", "R")
FAULTS = ("stuck", "error")
#: What an answer says that fails, and its code on RRESP and BRESP.
RESPONSES = {"SLVERR": 2, "DECERR": 3}
WRITE_ORDERS = ("address", "together", "data")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault of the simulated memory: an AXI channel of a master moves nothing ("stuck"), or its
    answers are SLVERR or DECERR ("error").

    A beat of R that fails brings random bits. A stuck AW, W or AR takes nothing. A stuck B or R
    shows no new answer. Errors are those of single answers, a write's B or a beat of R, decided in
    the clock in which the answer is first shown. Faults of one channel are independent: an answer
    fails if one of them says so, and each counts it; of two that say so, DECERR is the answer.

    master : the master's name, as ``m_axi_host``.
    channel : one of ``CHANNELS``; an error has B or R.
    cycle : first clock with the fault, counted from the end of the kernel's reset, over all
        launches.
    kind : "stuck" or "error".
    until : first clock without the fault; None: it never ends.
    skip : of an error, answers that are still right, counted from ``cycle`` on.
    count : of an error, answers that then fail; all that follow are right. None: all fail to the
        end.
    response : of an error, "SLVERR" or "DECERR".
    address, size : of an error, the device's bytes that it is about; a size of None: to the last
        one there is. An answer whose beat (R) or burst (B) touches none of them neither fails nor
        counts.
    """

    master: str
    channel: str
    cycle: int = 0
    kind: str = "stuck"
    until: int | None = None
    skip: int = 0
    count: int | None = None
    response: str = "SLVERR"
    address: int = 0
    size: int | None = None

    def __post_init__(self):
        for name, known in (("channel", CHANNELS), ("kind", FAULTS), ("response", RESPONSES)):
            if getattr(self, name) not in known:
                raise UsageError(
                    f"{name} must be one of {', '.join(known)}, not {getattr(self, name)!r}"
                )
        check_range("cycle", self.cycle, 0, 2**63)
        if self.until is not None:
            check_range("until", self.until, self.cycle + 1, 2**64 - 1, ", after cycle")
        if self.kind == "error" and self.channel not in ("B", "R"):
            raise UsageError(f"channel must be B or R for an error, not {self.channel!r}")
        if self.kind == "stuck":
            unset_values = dict(skip=0, count=None, response="SLVERR", address=0, size=None)
            for name, unset in unset_values.items():
                value = getattr(self, name)
                if value != unset:
                    raise UsageError(f"{name} must be {unset} for a stuck channel, not {value!r}")
        for name in ("skip", "address"):
            check_range(name, getattr(self, name), 0, 2**63)
        for name in ("count", "size"):
            if getattr(self, name) is not None:
                check_range(name, getattr(self, name), 1, 2**63)


@dataclass(frozen=True, kw_only=True)
class MemoryConfig(ConfigBase):
    """How the memory behind every AXI master behaves.

    The first beat of a read is shown ``read_latency`` clocks after its address was taken. The
    answer to a write is shown ``write_latency`` clocks after its address and its last beat were
    taken. Both keep the order of requests.

    AXI lets a slave take the address or the data of a write first, or wait for both, so a kernel
    must work with each ``write_order``.

    read_latency, write_latency : clocks, as above; the defaults are about what DDR4 behind an
        interconnect takes at 250 MHz.
    bandwidth : beats a clock, for reads and for writes each, above 0 and up to 1.
    outstanding : bursts that may be in flight in each direction.
    write_order : of a write, "address": its address is taken first, then its data; "together": its
        address is taken only while its data is offered; "data": all data of the burst is taken,
        then its address.
    write_wait : clocks that a write's address, and the first beat of its data, must be offered
        before they are taken.
    stall : probability, below 1, that a channel stalls in a clock.
    pause, period : in every ``period`` clocks each channel stands still for ``pause`` clocks in a
        row, besides the random stalls; when, is drawn for each channel from ``seed``. A pause of
        0: never.
    noise : if true, the card is not kind: its memory, registers and RAM begin as noise, and a read
        of a RAM that meets a write of the word brings noise. (A failed answer of memory always
        does.)
    seed : of the random stalls, of the pauses and of the noise.
    max_idle : clocks without any AXI transfer after which a launch counts as standing still. There
        are more than a million in an iteration of ``fixar`` with a large batch.
    faults : faults of the memory, none by default.
    """

    read_latency: int = 64
    write_latency: int = 32
    bandwidth: float = 1.0
    outstanding: int = 256
    write_order: str = "address"
    write_wait: int = 0
    stall: float = 0.0
    pause: int = 0
    period: int = 1
    noise: bool = False
    seed: int = 0
    max_idle: int = 4_000_000
    faults: tuple[Fault, ...] = ()

    def __post_init__(self):
        for name in ("read_latency", "write_latency", "outstanding", "max_idle", "period"):
            check_range(name, getattr(self, name), 1, 2**31)
        check_range("write_wait", self.write_wait, 0, 2**31)
        check_range("pause", self.pause, 0, self.period - 1, ", below period")
        check_range("seed", self.seed, 0, 2**63)
        if self.write_order not in WRITE_ORDERS:
            raise UsageError(
                f"write_order must be one of {', '.join(WRITE_ORDERS)}, not {self.write_order!r}"
            )
        if not 0 < self.bandwidth <= 1:
            raise UsageError(f"bandwidth must be above 0 and at most 1, not {self.bandwidth!r}")
        if not 0 <= self.stall < 1:
            raise UsageError(f"stall must be at least 0 and below 1, not {self.stall!r}")


class Bank(NamedTuple):
    """A memory bank: ``name`` as the board's tools call it, ``size`` in bytes."""

    name: str
    size: int


#: Those of a U200.
BANKS = tuple(Bank(f"DDR[{index}]", 16 << 30) for index in range(4))


class Allocator:
    """Allocates memory in ``bank``, which begins at the address ``base``.

    A block begins on a page of 4096 bytes, at the lowest address where it fits (first fit).
    """

    def __init__(self, bank, base):
        self.bank, self.base, self.used = bank, base, []

    def mem(self, index):
        """This memory as an object like XRT's ``xclbin.mem``, which has the getters ``get_index``,
        ``get_tag``, ``get_used``, ``get_base_address`` and ``get_size_kb``."""
        values = {
            "index": index,
            "tag": self.bank.name,
            "used": True,
            "base_address": self.base,
            "size_kb": self.bank.size // 1024,
        }
        return SimpleNamespace(**{f"get_{key}": lambda v=v: v for key, v in values.items()})

    def allocate(self, size):
        """Takes ``size`` bytes and returns their address. If there is no room: MemoryError, which
        names the largest free block."""
        free, largest = self.base, 0
        for start, end in [*self.used, (self.base + self.bank.size, 0)]:
            if start - free >= size:
                insort(self.used, (free, free + -(-size // PAGE_BYTES) * PAGE_BYTES))
                return free
            free, largest = end, max(largest, start - free)
        raise MemoryError(
            f"size must be at most {largest} bytes in bank {self.bank.name}, not {size}"
        )

    def release(self, address):
        self.used = [block for block in self.used if block[0] != address]


class Buffer(NamedTuple):
    """Memory that one launch may use through ``master``, the name of an AXI master.

    ``data`` is a uint8 array of the bytes from ``address`` on; the kernel changes it in place.
    ``readable`` and ``writable`` say what the kernel may do with them.
    """

    master: str
    address: int
    data: np.ndarray
    readable: bool = True
    writable: bool = True


# Places that are remembered.
_KEPT = 1024


class Memory:
    """The buffers of one launch as a kernel's twin sees them."""

    def __init__(self, buffers):
        self.buffers = buffers
        self._spans = [(b.address, b.address + len(b.data), b.data) for b in buffers]
        self._begins = {begin: data for begin, _, data in reversed(self._spans)}
        self._bytes = {begin: memoryview(data) for begin, data in self._begins.items()}
        self._words = {}

    def view(self, address, size):
        """The ``size`` bytes at ``address``, writable; IndexError outside of the buffers."""
        data = self._begins.get(address)
        if data is not None and size <= len(data):  # the usual place, and the same bytes
            return data[:size]
        for begin, end, data in self._spans:
            if begin <= address and address + size <= end:
                return data[address - begin : address - begin + size]
        raise IndexError(f"address must be inside a buffer with {size} bytes, not {address:#x}")

    def words(self, address, size):
        """The ``size`` bytes at ``address`` as uint32, writable; IndexError outside of the buffers.

        The views of the last places are kept, because programs repeat them.
        """
        found = self._words.get((address, size))
        if found is None:
            if len(self._words) >= _KEPT:
                self._words.clear()
            found = self._words[address, size] = self.view(address, size).view(np.uint32)
        return found

    def bytes(self, address, size):
        """The ``size`` bytes at ``address`` as a memoryview, writable; IndexError outside of the
        buffers. For a few bytes it is several times faster than ``view``."""
        data = self._bytes.get(address)
        if data is not None and size <= len(data):
            return data[:size]
        return self.view(address, size).data
