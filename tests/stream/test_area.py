"""The lookup tables and registers that queues and width changers estimate are those that yosys
maps."""

import pytest
from mapped_unit import mapped_unit

from hw.stream.pack import Pack, Unpack
from hw.stream.queue import Queue
from hw.stream.ram import Ram
from hw.stream.ready_register import ReadyRegister
from hw.stream.split import Split

#: name -> unit, estimate
UNITS = {
    "queue_16": lambda: (Queue(64, 16), Queue.estimate(64, 16)),
    "queue_20": lambda: (Queue(100, 20), Queue.estimate(100, 20)),
    "queue_64": lambda: (Queue(513, 64), Queue.estimate(513, 64)),
    "queue_256": lambda: (Queue(8, 256), Queue.estimate(8, 256)),
    "queue_700": lambda: (Queue(72, 700), Queue.estimate(72, 700)),
    "ram_tables": lambda: (
        Ram(width=90, depth=256, style="distributed"),
        Ram.estimate(90, 256, "distributed"),
    ),
    "ram_ultra": lambda: (
        Ram(width=100, depth=30_000, style="ultra"),
        Ram.estimate(100, 30_000, "ultra"),
    ),
    "ready_register": lambda: (ReadyRegister(100), ReadyRegister.estimate(100)),
    "split_8": lambda: (Split(64, 8, 16), Split.estimate(64, 8, 16)),
    "split_16": lambda: (Split(64, 16, 16), Split.estimate(64, 16, 16)),
    "split_20": lambda: (Split(64, 20, 16), Split.estimate(64, 20, 16)),
    "pack_1": lambda: (Pack(128, 2, 1), Pack.estimate(128, 2, 1)),
    "pack_4": lambda: (Pack(128, 5, 4), Pack.estimate(128, 5, 4)),
    "pack_8": lambda: (Pack(32, 8, 8), Pack.estimate(32, 8, 8)),
    "unpack_1": lambda: (Unpack(128, 1), Unpack.estimate(128, 1)),
    "unpack_4": lambda: (Unpack(128, 4), Unpack.estimate(128, 4)),
}


@pytest.mark.long
@pytest.mark.parametrize("name", UNITS)
def test_area(name):
    """Within a tenth, or twenty: yosys changes from version to version."""
    unit, estimate = UNITS[name]()
    found = mapped_unit(unit, name, flatten=False)
    assert estimate.lut == pytest.approx(found["lut"], rel=0.1, abs=20)
    assert estimate.ff == pytest.approx(found["ff"], rel=0.01, abs=4)
    assert (estimate.uram or 0) == found["uram"]
    assert (estimate.bram36 or 0) == pytest.approx(found["bram36"], abs=0.5)
