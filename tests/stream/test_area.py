"""The lookup tables and registers that queues and width changers estimate are those that yosys
maps."""

import pytest
from mapped_unit import mapped_unit

from bench.area_fit import mapped_units
from hw.area import area
from hw.stream import estimate
from hw.stream.pack import Pack, Unpack
from hw.stream.queue import Queue
from hw.stream.ram import Ram, shallow_memory
from hw.stream.ready_register import ReadyRegister
from hw.stream.split import Split

#: name -> unit, estimate
UNITS = {
    "queue_16": lambda: (Queue(64, 16), estimate.queue(64, 16)),
    "queue_20": lambda: (Queue(100, 20), estimate.queue(100, 20)),
    "queue_64": lambda: (Queue(513, 64), estimate.queue(513, 64)),
    "queue_256": lambda: (Queue(8, 256), estimate.queue(8, 256)),
    "queue_700": lambda: (Queue(72, 700), estimate.queue(72, 700)),
    "ram_tables": lambda: (
        Ram(width=90, depth=256, style="distributed"),
        Ram.estimate(90, 256, "distributed"),
    ),
    "ram_ultra": lambda: (
        Ram(width=100, depth=30_000, style="ultra"),
        Ram.estimate(100, 30_000, "ultra"),
    ),
    "ready_register": lambda: (ReadyRegister(100), area("stream.ready_register", width=100)),
    "split_8": lambda: (Split(64, 8, 16), estimate.split(64, 8, 16)),
    "split_16": lambda: (Split(64, 16, 16), estimate.split(64, 16, 16)),
    "split_20": lambda: (Split(64, 20, 16), estimate.split(64, 20, 16)),
    "pack_1": lambda: (Pack(128, 2, 1), estimate.pack(128, 2, 1)),
    "pack_4": lambda: (Pack(128, 5, 4), estimate.pack(128, 5, 4)),
    "pack_8": lambda: (Pack(32, 8, 8), estimate.pack(32, 8, 8)),
    "unpack_1": lambda: (Unpack(128, 1), estimate.unpack(128, 1)),
    "unpack_4": lambda: (Unpack(128, 4), estimate.unpack(128, 4)),
}


@pytest.mark.long
@pytest.mark.parametrize("name", UNITS)
def test_area(name):
    """Within a tenth, or twenty: yosys changes from version to version."""
    unit, need = UNITS[name]()
    found = mapped_unit(unit, name, flatten=False)
    assert need.lut == pytest.approx(found["lut"], rel=0.1, abs=20)
    assert need.ff == pytest.approx(found["ff"], rel=0.01, abs=4)
    assert (need.uram or 0) == found["uram"]
    assert (need.bram36 or 0) == pytest.approx(found["bram36"], abs=0.5)


#: Width, depth, style of a Ram -> LUT, FF, RAMB36 and URAM288, as yosys mapped it: with the largest
#: width and depth of a cell or block, and with more.
XCUP = {
    (14, 16, "distributed"): (8, 14, 0, 0),
    (15, 31, "distributed"): (16, 15, 0, 0),
    (14, 32, "distributed"): (8, 14, 0, 0),
    (28, 32, "distributed"): (16, 28, 0, 0),
    (7, 33, "distributed"): (8, 7, 0, 0),
    (28, 33, "distributed"): (32, 28, 0, 0),
    (20, 64, "distributed"): (24, 20, 0, 0),
    (20, 65, "distributed"): (71, 20, 0, 0),
    (20, 128, "distributed"): (70, 20, 0, 0),
    (9, 512, "distributed"): (169, 9, 0, 0),
    (8, 32, "auto"): (8, 8, 0, 0),
    (60, 64, "auto"): (72, 60, 0, 0),
    (14, 256, "auto"): (0, 0, 0.5, 0),
    (36, 512, "block"): (0, 0, 0.5, 0),
    (37, 512, "block"): (0, 0, 1, 0),
    (72, 512, "block"): (0, 0, 1, 0),
    (73, 512, "block"): (0, 0, 1.5, 0),
    (36, 513, "block"): (0, 0, 1, 0),
    (18, 1024, "block"): (0, 0, 0.5, 0),
    (19, 1024, "block"): (0, 0, 1, 0),
    (9, 2049, "block"): (0, 0, 1, 0),
    # In depth: fewer parts, of more blocks.
    (32, 8320, "block"): (170, 0, 9, 0),
    (32, 65792, "block"): (640, 0, 66, 0),
    (64, 22914, "block"): (67, 0, 48, 0),
    (72, 2048, "ultra"): (0, 0, 0, 1),
    (72, 4096, "ultra"): (0, 0, 0, 1),
    (73, 4096, "ultra"): (0, 0, 0, 2),
}


@pytest.mark.parametrize("memory", XCUP)
def test_memories_as_yosys_mapped_them(memory):
    """Taken down once. What chooses among the parts of a deep memory differs from case to case."""
    need = Ram.estimate(*memory)
    assert (need.ff, need.bram36, need.uram or 0) == XCUP[memory][1:]
    deep = memory[1] > 2049 or memory[2] == "distributed" and memory[1] > 64
    assert need.lut == pytest.approx(XCUP[memory][0], rel=0.1 * deep)


@pytest.mark.long
def test_memories():
    """The same numbers, mapped again."""
    names = "width", "depth", "style"
    units = {
        f"Ram_{number}": Ram(**dict(zip(names, memory, strict=True)))
        for number, memory in enumerate(XCUP)
    }
    found = mapped_units(units, "xcup", "memories_of_xcup")
    for number, mapped in enumerate(XCUP.values()):
        counts = found[f"Ram_{number}"]
        assert tuple(counts[name] for name in ("ff", "bram36", "uram")) == mapped[1:]
        assert counts["lut"] == pytest.approx(mapped[0], rel=0.1)


#: Width, depth, style of a Ram -> LUT, FF and pairs of DP16KD on an ECP5, as yosys mapped it.
ECP5 = {
    (8, 16, "distributed"): (12, 8, 0),
    (7, 32, "distributed"): (33, 7, 0),
    (16, 64, "distributed"): (164, 16, 0),
    (10, 128, "distributed"): (212, 10, 0),
    (8, 256, "distributed"): (380, 8, 0),
    (5, 20, "distributed"): (31, 5, 0),
    (8, 16, "auto"): (12, 8, 0),
    (64, 16, "auto"): (96, 64, 0),
    (16, 64, "auto"): (164, 16, 0),
    (129, 16, "auto"): (198, 129, 0),
    (40, 64, "auto"): (404, 40, 0),
    (100, 256, "auto"): (119, 210, 1.5),
    (8, 256, "auto"): (25, 26, 0.5),
    (4, 100, "auto"): (73, 4, 0),
    (16, 512, "block"): (33, 43, 0.5),
    (40, 300, "block"): (57, 91, 1),
    (100, 700, "block"): (122, 212, 3),
    (24, 4096, "block"): (50, 62, 3),
    (72, 1024, "block"): (85, 156, 2),
    (18, 3000, "block"): (85, 52, 1.5),
    (9, 20000, "block"): (116, 39, 5),
    (36, 512, "block"): (53, 83, 0.5),
    (37, 512, "block"): (54, 85, 1),
    (19, 1024, "block"): (39, 50, 1),
    (128, 64, "block"): (134, 264, 2),
    (8, 100, "auto"): (139, 8, 0),
    (12, 100, "auto"): (205, 12, 0),
    (16, 100, "auto"): (22, 41, 0.5),
    (32, 100, "auto"): (48, 73, 0.5),
    (8, 128, "auto"): (152, 8, 0),
    (12, 128, "auto"): (25, 33, 0.5),
    (16, 128, "auto"): (22, 41, 0.5),
    (4, 256, "auto"): (200, 4, 0),
    (6, 256, "auto"): (28, 22, 0.5),
    (2, 512, "auto"): (22, 15, 0.5),
    (4, 512, "auto"): (24, 19, 0.5),
    (1, 1024, "auto"): (19, 14, 0.5),
    (3, 300, "auto"): (218, 3, 0),
    (200, 64, "auto"): (208, 408, 3),
    (513, 64, "auto"): (521, 1034, 7.5),
    (72, 48, "auto"): (79, 152, 1),
    (129, 33, "auto"): (136, 266, 2),
    (60, 17, "auto"): (242, 60, 0),
    (5, 200, "auto"): (241, 5, 0),
    (8, 48, "distributed"): (55, 8, 0),
    (129, 64, "distributed"): (1312, 129, 0),
    (32, 80, "distributed"): (341, 32, 0),
    (12, 96, "distributed"): (234, 12, 0),
}


@pytest.mark.parametrize("memory", ECP5, ids=str)
def test_memories_of_an_ecp5_as_yosys_mapped_them(memory):
    """Taken down once: yosys chooses the same kind of memory. Tables of comparators and of what
    chooses among more than four parts differ from case to case."""
    need, (lut, ff, blocks) = Ram.estimate(*memory), ECP5[memory]
    assert need.ecp5[1:] == (ff, blocks, 0, 0)
    assert need.ecp5[0] == pytest.approx(lut, rel=0.2, abs=10)


def test_an_ecp5_has_no_ultra_ram():
    assert Ram.estimate(72, 4096, "ultra").ecp5 is None


def test_a_queues_memory_has_no_register_at_its_output():
    assert shallow_memory(16, 16).ecp5 == (4 * 6, 0, 0, 0, 0)
    lut, ff, *_ = Ram.estimate(20, 64, "distributed").ecp5
    assert (lut, ff) == (5 * 4 * 6 + 20 * 4 + 4, 20)
    # Three tables choose a bit of four cells, and one of two; a RAM's take four and one.
    assert shallow_memory(20, 64).ecp5[:2] == (5 * 4 * 6 + 20 * 3 + 4, 0)
    assert shallow_memory(20, 32).ecp5[:2] == (5 * 2 * 6 + 20 * 1 + 2, 0)


@pytest.mark.long
def test_memories_of_an_ecp5():
    """The same numbers, mapped again."""
    units = {
        f"Ram_{number}": Ram(width=width, depth=depth, style=style)
        for number, (width, depth, style) in enumerate(ECP5)
    }
    found = mapped_units(units, "ecp5", "memories")
    for number, (lut, ff, blocks) in enumerate(ECP5.values()):
        counts = found[f"Ram_{number}"]
        assert (counts["ff"], counts["bram36"]) == (ff, blocks)
        assert counts["lut"] == pytest.approx(lut, rel=0.1, abs=5)
