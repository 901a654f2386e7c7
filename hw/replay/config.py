"""Sizes of the replay manager: the tree's shape and every width that follows from it."""

from dataclasses import dataclass

from hw.config import ConfigBase, check_flag, check_range
from hw.errors import UsageError
from hw.shell.axi import EngineConfig
from hw.stream.ram import style_of

__all__ = ["FRACTION_WIDTH", "GRANULE_WIDTH", "LevelShape", "ReplayConfig", "ReplayKernelConfig"]

#: Bits of a random number in [0, 1): wide enough to reach every unit of the widest total.
FRACTION_WIDTH = 48

#: Bits of a granule, the unit in which experiences are measured.
GRANULE_WIDTH = 128


@dataclass(frozen=True, kw_only=True)
class LevelShape:
    """One level of the tree: ``nodes`` words of ``fanout - 1`` inclusive prefix sums.

    The last prefix sum of a node is the node's total. It is not stored, because the parent has it.
    ``width`` is bits of a prefix sum, ``shift`` the index bits below this level's child number,
    ``style`` the kind of memory: "distributed", "block" or "ultra".
    """

    nodes: int
    fanout: int
    width: int
    shift: int
    style: str

    @property
    def word_width(self):
        return (self.fanout - 1) * self.width

    @property
    def child_width(self):
        """Bits of a child's number."""
        return (self.fanout - 1).bit_length()


@dataclass(frozen=True, kw_only=True)
class ReplayConfig(ConfigBase):
    """Replay manager (CF'22 section 3.1, PEARL section V-A).

    capacity : leaves, 2..2**24; any number, not only powers of the fanout.
    fanout : children of a node K, a power of two in 2..64, so that a child is a slice of the index.
    priority_width : bits of a priority, which is unsigned.
    priority_fraction : bits of a priority that are behind the binary point.
    ultra_ram : whether memories of 2048 words or more may be UltraRAM.
    """

    capacity: int = 1 << 20
    fanout: int = 16
    priority_width: int = 24
    priority_fraction: int = 16
    ultra_ram: bool = True

    def __post_init__(self):
        check_range("capacity", self.capacity, 2, 1 << 24)
        check_range("fanout", self.fanout, 2, 64)
        if self.fanout & (self.fanout - 1):
            raise UsageError(f"fanout must be a power of two, not {self.fanout!r}")
        check_range("priority_width", self.priority_width, 4, 32)
        check_range("priority_fraction", self.priority_fraction, 0, self.priority_width - 1)
        check_flag("ultra_ram", self.ultra_ram)
        if self.total_width > FRACTION_WIDTH:
            raise UsageError(
                f"priority_width must be at most {FRACTION_WIDTH - self.index_width} for "
                f"{self.capacity} leaves (a total has {FRACTION_WIDTH} bits), "
                f"not {self.priority_width!r}"
            )

    @property
    def priority_limit(self):
        """Largest raw priority."""
        return (1 << self.priority_width) - 1

    @property
    def one(self):
        """Raw priority of 1.0, or the largest if the format does not reach it."""
        return min(1 << self.priority_fraction, self.priority_limit)

    @property
    def index_width(self):
        return (self.capacity - 1).bit_length()

    @property
    def total_width(self):
        return (self.priority_limit * self.capacity).bit_length()

    @property
    def digit_width(self):
        return self.fanout.bit_length() - 1

    @property
    def depth(self):
        """Levels: the least D with fanout**D >= capacity."""
        return -(-self.index_width // self.digit_width)

    @property
    def levels(self):
        """List of the ``LevelShape`` of each level, from the root to the leaves' parents. From
        level to level towards the root, widths grow by log2 of the fanout (CF'22)."""
        shapes = []
        for level in range(self.depth):
            below = self.fanout ** (self.depth - 1 - level)  # leaves under one child
            nodes = -(-self.capacity // (below * self.fanout))
            fanout = self.fanout if level else -(-self.capacity // below)
            largest = self.priority_limit * min(self.capacity, below * fanout)
            shapes.append(
                LevelShape(
                    nodes=nodes,
                    fanout=fanout,
                    width=largest.bit_length(),
                    shift=self.digit_width * (self.depth - 1 - level),
                    style=style_of(nodes, self.ultra_ram),
                )
            )
        return shapes

    @property
    def table_style(self):
        return style_of(self.capacity, self.ultra_ram)

    @property
    def table_lanes(self):
        """Priorities in a row of the priority table: as many as fit the 72 bits of an UltraRAM
        word, or 1 if the table is not UltraRAM."""
        return max(1, 72 // self.priority_width) if self.table_style == "ultra" else 1

    @property
    def table_rows(self):
        return -(-self.capacity // self.table_lanes)


@dataclass(frozen=True, kw_only=True)
class ReplayKernelConfig(ConfigBase):
    """The whole kernel: replay manager and memory engines."""

    replay: ReplayConfig = ReplayConfig()
    engine: EngineConfig = EngineConfig()

    def __post_init__(self):
        if self.engine.data_width % (GRANULE_WIDTH):
            raise UsageError(
                f"data_width must be a multiple of {GRANULE_WIDTH} "
                f"(a granule), not {self.engine.data_width!r}"
            )
