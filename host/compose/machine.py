"""A machine: devices, and the links between them, as two CSV files.

``devices.csv`` has a line for each device::

    name,kind,board,cores,clock_mhz,launch_us,watts,source
    cpu0,cpu,,2,,,,detected
    card0,card,u200,,250,60,,clock and launch assumed

``links.csv`` has a line for each link, which goes both ways; a link of a device with itself is its
own memory::

    a,b,latency_us,gb_per_s,source
    cpu0,cpu0,0.1,20,assumed: a copy by one core
    cpu0,card0,10,12,assumed: PCIe 3 x16
    card0,card0,0.3,19.2,one DDR4-2400 bank

An empty cell is a number that nobody knows, which is never 0. The last column says where the
numbers come from. Source: PEARL, section III-B (device file and connection file).
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import boards
from host.compose.csv_rows import TEXT, known, located, read_rows
from host.rules import NOT_NEGATIVE, POSITIVE, Choice, Integer, check_choice, check_fields
from hw.errors import UsageError
from hw.names import LABEL

__all__ = ["KINDS", "Device", "Link", "Machine", "transfer_us"]

#: Kinds of devices.
KINDS = ("cpu", "cuda", "card")


@dataclass(frozen=True, kw_only=True)
class Device:
    """A processor or an accelerator.

    name : its name in the other files, of letters, digits, dots, dashes and underscores.
    kind : ``cpu``, ``cuda`` (a GPU), or ``card`` (an FPGA).
    board : a card's board, a key of ``boards.BOARDS``; None for another kind.
    cores : a cpu's cores.
    clock_mhz : the clock, MHz.
    launch_us : microseconds that starting a program takes.
    watts : power while it works, W.
    source : where the numbers come from.
    """

    name: Annotated[str, LABEL]
    kind: Annotated[str, Choice(KINDS)]
    board: Annotated[str | None, TEXT] = None
    cores: Annotated[int | None, Integer(1, 1 << 20)] = None
    clock_mhz: Annotated[float | None, POSITIVE] = None
    launch_us: Annotated[float | None, NOT_NEGATIVE] = None
    watts: Annotated[float | None, POSITIVE] = None
    source: Annotated[str, TEXT]

    def __post_init__(self):
        check_fields(self)
        if self.board is not None:
            if self.kind != "card":
                raise UsageError(f"board must be empty for a {self.kind}, not {self.board!r}")
            check_choice("board", self.board, boards.BOARDS)


@dataclass(frozen=True, kw_only=True)
class Link:
    """A connection of the devices called ``a`` and ``b``, both ways; ``a`` is ``b`` for a device's
    own memory.

    latency_us : microseconds before the first byte.
    gb_per_s : bandwidth, 10^9 bytes a second.
    source : where the numbers come from.
    """

    a: Annotated[str, TEXT]
    b: Annotated[str, TEXT]
    latency_us: Annotated[float | None, NOT_NEGATIVE] = None
    gb_per_s: Annotated[float | None, POSITIVE] = None
    source: Annotated[str, TEXT]

    def __post_init__(self):
        check_fields(self)

    @property
    def ends(self):
        return frozenset((self.a, self.b))

    def known(self, name):
        """The value of field ``name``; UsageError if it is None."""
        return known(self, name, f"the link {self.a}, {self.b}")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Devices, one of which is a cpu, and links.

    Every device has its own memory and a link to the cpu; two others without a link meet through
    the cpu. UsageError otherwise.

    devices : tuple of Device, in the order of the file.
    links : tuple of Link.
    """

    devices: tuple
    links: tuple

    def __post_init__(self):
        for k, device in enumerate(self.devices):
            _check_device(device, self.devices[:k])
        _check_cpu(self.devices)
        for k, link in enumerate(self.links):
            _check_link(link, self.links[:k], self.names)
        _check_complete(self._by_ends, self.names, self.cpu.name)

    @classmethod
    def read(cls, devices, links):
        """The machine in the two CSV files at the paths ``devices`` and ``links``. UsageError, with
        file and line, for whatever is wrong."""
        found = read_rows(devices, Device, _check_device)
        with located(Path(devices).name):
            _check_cpu(found)
        names = tuple(device.name for device in found)
        joined = read_rows(links, Link, lambda link, before: _check_link(link, before, names))
        with located(Path(links).name):
            return cls(devices=found, links=joined)

    @property
    def names(self):
        """The names of the devices, in order."""
        return tuple(device.name for device in self.devices)

    @property
    def cpu(self):
        """The device on which the actors run."""
        return next(device for device in self.devices if device.kind == "cpu")

    @property
    def card(self):
        """The first card; None without one."""
        return next((device for device in self.devices if device.kind == "card"), None)

    def device(self, name):
        """The Device called ``name``."""
        return next(device for device in self.devices if device.name == name)

    @cached_property
    def _by_ends(self):
        return {link.ends: link for link in self.links}

    def route(self, a, b):
        """The tuple of links from the device called ``a`` to that called ``b``: one, or two by way
        of the cpu."""
        direct = self._by_ends.get(frozenset((a, b)))
        if direct:
            return (direct,)
        return tuple(self._by_ends[frozenset((each, self.cpu.name))] for each in (a, b))

    def transfer_us(self, a, b, size_bytes):
        """Microseconds of sending ``size_bytes`` bytes from ``a`` to ``b``: ``lat + size / bw`` of
        every link on the way. UsageError if a number of a link is unknown."""
        return sum(
            transfer_us(link.known("latency_us"), size_bytes, link.known("gb_per_s"))
            for link in self.route(a, b)
        )

    def traffic_us(self, a, b, size_bytes):
        """As ``transfer_us``, without latencies: the term ``C / bandwidth`` of PEARL's Algorithm 1,
        line 14."""
        return sum(transfer_us(0, size_bytes, link.known("gb_per_s")) for link in self.route(a, b))


def transfer_us(latency_us, size_bytes, gb_per_s):
    """T_comm in microseconds: ``lat + size / bandwidth`` (PEARL, section VI-A, below equation 6).

    latency_us : microseconds before the first byte.
    size_bytes : bytes that are sent.
    gb_per_s : 10^9 bytes a second.
    """
    return latency_us + size_bytes / (1e3 * gb_per_s)


def _check_device(device, before):
    if device.name in [each.name for each in before]:
        raise UsageError(f"name must be of one device, not of two: {device.name!r}")
    if device.kind == "cpu" and any(each.kind == "cpu" for each in before):
        raise UsageError(f"kind must be cpu for one device, not for {device.name} too")


def _check_cpu(devices):
    if not any(device.kind == "cpu" for device in devices):
        raise UsageError("kind must be cpu for one device, not for none")


def _check_link(link, before, names):
    for field in ("a", "b"):
        check_choice(field, getattr(link, field), names)
    if link.ends in [each.ends for each in before]:
        raise UsageError(f"links must connect {link.a} and {link.b} once, not twice")


def _check_complete(by_ends, names, cpu):
    for name in names:
        for other, text in ((name, "itself (its own memory)"), (cpu, cpu)):
            if frozenset((name, other)) not in by_ends:
                raise UsageError(f"links must connect {name} and {text}, not be absent")
