"""Sizes of the replay manager: the tree's shape and every width that follows from it."""

from dataclasses import dataclass
from functools import cached_property

from hw.arith.multiply import Multiply
from hw.config import ConfigBase, check_flag, check_range
from hw.errors import UsageError
from hw.shell.axi import EngineConfig
from hw.stream.ram import style_of

__all__ = ["DRAW_LATENCY", "FRACTION_WIDTH", "GRANULE_WIDTH", "LevelShape", "ReplayConfig"]
__all__ += ["ReplayKernelConfig", "compute_stage"]

#: Bits of a random number in [0, 1): wide enough to reach every unit of the widest total.
FRACTION_WIDTH = 48
#: Clocks of a ``Draw``: a product of FRACTION_WIDTH bits, and a sum.
DRAW_LATENCY = Multiply.latency_of(FRACTION_WIDTH, FRACTION_WIDTH + 1) + 1

#: Bits of a granule, the unit in which experiences are measured.
GRANULE_WIDTH = 128


def compute_stage(depth, style):
    """The stage at which an operation of a ``ForwardingMemory`` has its word: 0 for a single
    register, else the read time of the memory.

    Distributed memory is read in one clock. Block RAM takes two, with a second register at its
    output. UltraRAM takes three, because its cascades need an output register as well.
    """
    return {"distributed": 1, "block": 2, "ultra": 3}[style] if depth > 1 else 0


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

    @property
    def stage(self):
        return compute_stage(self.nodes, self.style)

    @property
    def latency(self):
        """Clocks of a ``TreeLevel``: to its compute stage; then it compares or adds, and chooses
        the child."""
        return self.stage + 2


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

    @property
    def table_stage(self):
        return compute_stage(self.table_rows, self.table_style)

    # Clocks of an operation: table and draw side by side; the product of fraction and total; the
    # levels of the tree; the last subtraction, and the response queue.

    @property
    def table_latency(self):
        """Clocks of a ``PriorityTable``: row and lane, memory, change, total."""
        return 1 + self.table_stage + 2

    @property
    def front_latency(self):
        return max(self.table_latency, DRAW_LATENCY)

    @property
    def scale_latency(self):
        return Multiply.latency_of(FRACTION_WIDTH, self.total_width)

    @cached_property
    def tree_latency(self):
        return sum(level.latency for level in self.levels)

    @property
    def latency(self):
        """Clocks from a request to its response in a ``ReplayManager``, if nothing stalls."""
        return self.front_latency + self.scale_latency + self.tree_latency + 1 + 2


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
