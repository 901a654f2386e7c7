"""The lookup tables and registers that queues and width changers estimate are those that yosys
maps."""

import pytest
from mapped_unit import mapped_unit

from hw.area import area
from hw.stream import estimate
from hw.stream.pack import Pack, Unpack
from hw.stream.queue import Queue
from hw.stream.ram import Ram
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
