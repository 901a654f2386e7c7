"""Boards as data: part, memory banks, clocks, resources. Hardware depends only on ``numbers``."""

from collections import Counter
from dataclasses import dataclass, fields, replace

from hw.config import ConfigBase, check_range
from hw.errors import UsageError
from hw.estimate import exceeded

__all__ = ["Bank", "Board", "Clock", "FLOWS", "Resources", "Setup"]

#: Flow -> the vendor's program that makes a bitstream from Verilog; None if Python packages do it.
FLOWS = {"vitis": "v++", "vivado": "vivado", "nextpnr": None}


@dataclass(frozen=True, kw_only=True)
class Bank(ConfigBase):
    """A memory that a kernel's master can reach, of ``size`` bytes.

    ``name`` is that of the board's tools (``DDR[0]``), ``kind`` the technology (``HBM2``).
    ``region`` is the index of the SLR beside it, None if that is unknown.
    """

    name: str
    kind: str
    size: int  # bytes
    region: int | None = None


@dataclass(frozen=True, kw_only=True)
class Clock(ConfigBase):
    """A clock of a board, called ``name``.

    ``mhz`` is the frequency that a build asks for. If ``scalable``, the tools may lower it when the
    design is too slow; if not, such a design fails to build.
    """

    name: str
    mhz: int
    scalable: bool


@dataclass(frozen=True, kw_only=True)
class Resources(ConfigBase):
    """Resources of one region or of a whole part: lookup tables, registers, block RAMs of 36 kbit,
    UltraRAM blocks and DSP blocks. An unknown count is None, never 0."""

    lut: int | None
    ff: int | None
    bram36: int | None
    uram: int | None
    dsp: int | None

    def exceeded(self, need):
        """Yields ``(name, limit, need)`` for each resource of which the dict ``need`` has more than
        these resources.

        A count that is None or absent on either side is unknown, and passes.
        """
        return exceeded(need, self.to_dict())


#: Shares of the resources that a design may use if a board has none of its own: the limits of
#: FINN's floorplanner for UltraScale+. Beyond these, place and route seldom meets its clock.
PLANNING_SHARE = Resources(lut=0.7, ff=0.5, bram36=0.8, uram=0.8, dsp=0.8)


@dataclass(frozen=True, kw_only=True)
class Setup(ConfigBase):
    """Memory and clock for some designs, on a board where both are part of the bitstream.

    ``designs`` are their names; ``banks``, the ``regions`` that they leave and ``clocks`` are as in
    ``Board``.
    """

    designs: tuple[str, ...]
    banks: tuple[Bank, ...]
    regions: tuple[Resources, ...]
    clocks: tuple[Clock, ...]


@dataclass(frozen=True, kw_only=True)
class Board(ConfigBase):
    """A board.

    Fields
    ------
    name, title : str
        Key on the command line; name in messages.
    part, family : str
        Full part number; family as yosys calls it (``xcup``, ``ecp5``).
    data_width : int
        Bits of the kernel's AXI masters.
    banks : tuple[Bank, ...]
        Memory banks, by number.
    total : Resources
        Resources of the bare part.
    regions : tuple[Resources, ...]
        Resources that the shell leaves, an entry for each SLR (one entry if the part is one die).
    share : Resources
        Shares of ``regions`` that a design may use.
    clocks : tuple[Clock, ...]
        The first is the kernel's.
    platform : str | None
        The shell or board file for the vendor's tools.
    releases : tuple[str, str | None] | None
        First and last release of those tools that know ``platform``; the last is None if no release
        is known to have dropped it.
    joins : bool
        Whether neighbouring banks can serve a master as one.
    cuts : bool
        Whether each master has memory of its own: masters of the same bank have equal parts of it.
    shared : Bank | None
        On-chip memory that the kernel and a processor beside the logic both reach.
    flow : str
        One of ``FLOWS``.
    setups : tuple[Setup, ...]
        Banks, regions and clocks for some designs; other designs have the board's own.
    unverified : tuple[str, ...]
        Facts above that no source at hand confirms.
    """

    name: str
    title: str
    part: str
    family: str
    data_width: int
    banks: tuple[Bank, ...]
    total: Resources
    regions: tuple[Resources, ...]
    clocks: tuple[Clock, ...]
    platform: str | None
    flow: str
    releases: tuple[str, str | None] | None = None
    share: Resources = PLANNING_SHARE
    joins: bool = False
    cuts: bool = False
    shared: Bank | None = None
    setups: tuple[Setup, ...] = ()
    unverified: tuple[str, ...] = ()

    def __post_init__(self):
        if self.data_width not in (128, 512):
            raise UsageError(f"data_width must be 128 or 512, not {self.data_width!r}")
        if self.flow not in FLOWS:
            raise UsageError(f"flow must be one of {', '.join(FLOWS)}, not {self.flow!r}")
        if (self.platform is None) != (self.releases is None):
            raise UsageError(
                f"releases must be those of platform {self.platform!r}, not {self.releases!r}"
            )
        for name in ("banks", "regions", "clocks"):
            if not getattr(self, name):
                raise UsageError(f"{name} must be one or more, not {getattr(self, name)!r}")

    def set_up_for(self, design):
        """This board with the banks, regions and clocks that it has for the design of this name."""
        for setup in self.setups:
            if design in setup.designs:
                own = {name: getattr(setup, name) for name in ("banks", "regions", "clocks")}
                return replace(self, **own)
        return self

    def at(self, mhz):
        """This board with ``mhz`` as the clock that its kernel asks for; None: its own clock."""
        if mhz is None:
            return self
        check_range("mhz", mhz, 1, 1000)
        first, *others = self.clocks
        return replace(self, clocks=(replace(first, mhz=mhz), *others))

    @property
    def largest_bank(self):
        """The memory that the largest buffer may fill: the first of the largest banks. If banks
        join, it is all banks except the first, which is left for the host's buffers.
        """
        if self.joins:
            return self.join(1, len(self.banks) - 1)
        return max(self.banks, key=lambda bank: bank.size)

    def join(self, first, count):
        """One ``Bank`` that stands for ``count`` banks from number ``first`` on: it has their sizes
        together and the name of the range, such as ``HBM[3:6]``."""
        banks = self.banks[first : first + count]
        if count == 1:
            return banks[0]
        # HBM[3] to HBM[6] is HBM[3:6]
        name = f"{banks[0].name[:-1]}:{banks[-1].name.split('[')[1]}"
        return replace(banks[0], name=name, size=sum(bank.size for bank in banks))

    def assign(self, sizes, *, storage=None, taken=None):
        """The tuple of banks, one for each master; the first master is the host's.

        ``sizes`` : for each master the bytes of its buffers; 0 if one bank is enough. As long as
        there are banks, a master has one of its own, since a memory controller serves one master
        best. If banks join, it has as many as the buffers need.

        ``storage`` : position of the first of the masters over which the design's storage is
        spread. If there are fewer banks than masters, the masters behind the last bank take turns
        on the banks from that of this one on, which so get equal shares of the storage's traffic.
        None: they all have the last bank.

        ``taken`` : bytes of all the host's buffers, if they are allocated at once. If there is only
        one master, they lie in ``shared``, if they fit. None: buffers grow, and never lie on chip.
        """
        if len(sizes) == 1 and self.shared and taken and taken <= self.shared.size:
            return (self.shared,)
        assigned, first, again = [], 0, len(self.banks) - 1
        for number, size in enumerate(sizes):
            if first >= len(self.banks):
                first = again
            if number == storage:
                again = first
            count = max(1, -(-size // self.banks[first].size)) if self.joins else 1
            assigned.append(self.join(first, count))
            first += count
        if self.cuts:
            from hw.shell.program import PAGE_BYTES  # which imports Amaranth: a list needs none

            parts = Counter(bank.name for bank in assigned)
            assigned = [
                replace(b, size=b.size // parts[b.name] // PAGE_BYTES * PAGE_BYTES)
                for b in assigned
            ]
        return tuple(assigned)

    def planned(self, *regions):
        """The ``Resources`` that a design may use in ``regions`` together: ``floor(share * sum)``
        of each, with the board's ``share``; None if a region's is unknown."""

        def plan(name):
            counts = [getattr(region, name) for region in regions]
            if None in counts:
                return None
            return int(getattr(self.share, name) * sum(counts))

        return Resources(**{field.name: plan(field.name) for field in fields(Resources)})

    @property
    def usable(self):
        """Resources that a design may use on the whole board."""
        return self.planned(*self.regions)

    @property
    def counted(self):
        """The family whose counts of an estimate are this board's: "ecp5", else "xcup"."""
        return "ecp5" if self.family == "ecp5" else "xcup"

    @property
    def numbers(self):
        """The limits as plain numbers; a design's defaults may depend on these alone.

        family (as ``counted``), data_width (bits), ultra_ram (whether there is any), bank_bytes,
        clock_hz, and the usable lut, ff, bram36, uram, dsp (None: unknown).
        """
        return {
            "family": self.counted,
            "data_width": self.data_width,
            "ultra_ram": bool(self.total.uram),
            "bank_bytes": self.largest_bank.size,
            "clock_hz": self.clocks[0].mhz * 1_000_000,
            **self.usable.to_dict(),
        }
