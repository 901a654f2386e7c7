"""hw.shell.stripes against memories behind ports, with pauses on all sides."""

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from hw.shell.stripes import StripedRead, StripedWrite

#: data_width, stripes, block_beats, pieces.
SMALL = (32, 2, 4, 3)
#: Queues that pass a word in two clocks, behind a memory that answers in one.
FOUR = (64, 4, 8, 66)
LEAST = (32, 2, 1, 1)
ONE = (64, 1, 8, 4)
#: Of the kernel a3c.
ROWS = (512, 2, 16, 16)

CASES = [
    pytest.param("random limits", SMALL, id="small"),
    pytest.param("pace", FOUR, id="four"),
    pytest.param("random limits", FOUR, marks=pytest.mark.long, id="four at any pace"),
    pytest.param("random", ONE, marks=pytest.mark.long, id="one"),
    pytest.param("random", LEAST, marks=pytest.mark.long, id="least"),
    pytest.param("pace", ROWS, marks=pytest.mark.long, id="rows"),
]
#: Longest pauses of requests and data in, of memory, of data and tokens out.
PAUSES = [(0, 0, 0), (60, 0, 0), (0, 60, 0), (0, 0, 60), (3, 3, 3), (2, 40, 5)]


class Clocked(wiring.Component):
    """A unit and a register: with one master it has none itself, and no clock for the bench."""

    def __init__(self, unit):
        self.unit = unit
        super().__init__({**unit.signature.members, "tick": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = self.unit
        wiring.connect(m, wiring.flipped(self.port), self.unit.port)
        for number, base in enumerate(self.bases):
            m.d.comb += self.unit.bases[number].eq(base)
            wiring.connect(m, self.unit.masters[number], wiring.flipped(self.masters[number]))
        m.d.sync += self.tick.eq(~self.tick)
        return m


@pytest.mark.parametrize("unit", [StripedRead, StripedWrite])
@pytest.mark.parametrize("kinds, sizes", CASES)
def test_stripes(simulate, unit, kinds, sizes):
    """Every beat to and from its block, in order; errors; who waits for whom; clocks."""
    simulate(
        Clocked(unit(*sizes)),
        "shell.stripes_bench",
        unit=unit.__name__,
        sizes=sizes,
        kinds=kinds.split(),
        pauses=PAUSES if sizes == SMALL else PAUSES[4:],
    )


@pytest.mark.parametrize("unit", [StripedRead, StripedWrite])
@pytest.mark.parametrize(
    "sizes, message",
    [
        ((24, 2, 16, 8), "data_width must be 32, 64, 128, 256 or 512, not 24"),
        ((512, 3, 16, 8), "stripes must be 1, 2, 4, 8 or 16, not 3"),
        ((512, 32, 16, 8), "stripes must be 1, 2, 4, 8 or 16, not 32"),
        ((512, 2, 0, 8), r"block_beats must be an integer in 1\.\.64 at 512 bits, not 0"),
        ((512, 2, 65, 8), r"block_beats must be an integer in 1\.\.64 at 512 bits, not 65"),
        ((32, 2, 257, 8), r"block_beats must be an integer in 1\.\.256 at 32 bits, not 257"),
        ((512, 2, 12, 8), "block_beats must be a power of two, not 12"),
        ((512, 2, 16, 0), r"pieces must be an integer in 1\.\.1024, not 0"),
        ((512, 2, 16, 1025), r"pieces must be an integer in 1\.\.1024, not 1025"),
    ],
)
def test_rejects(unit, sizes, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        unit(*sizes)
