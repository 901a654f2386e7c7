"""The lookup tables and registers that the shell's units estimate are those that yosys maps."""

import pytest
from mapped_unit import mapped_unit

import boards
from hw.designs import DESIGNS
from hw.shell import estimate
from hw.shell.axi import EngineConfig
from hw.shell.control import Control
from hw.shell.description import standard_arguments
from hw.shell.interconnect import InterconnectConfig, ReadInterconnect, WriteInterconnect
from hw.shell.read_engine import ReadEngine
from hw.shell.sequencer import Sequencer
from hw.shell.stripes import StripedRead, StripedWrite
from hw.shell.width_conversion import Downsizer, Upsizer
from hw.shell.write_engine import WriteEngine

WIDE = EngineConfig(depth=200, burst_beats=16, bursts=100)
NARROW = EngineConfig(data_width=128, depth=16, burst_beats=8, bursts=4)
PORTS = InterconnectConfig(data_width=256, ports=3, depth=(64, 32, 128), burst_beats=32)


def sequencer(width, size):
    unit = Sequencer(data_width=width, status_bytes=size, config_hash=3**40, pointers=range(5))
    return unit, estimate.sequencer(width, size)


def control(name):
    arguments = standard_arguments(DESIGNS[name].core.BUFFERS)
    return Control(arguments), estimate.control(arguments)


def dispatcher(name):
    """The dispatcher of a design's default kernel for a large board."""
    core = DESIGNS[name].core(DESIGNS[name].default(boards.get("u200").numbers))
    return core.make_dispatcher(), estimate.dispatcher(core.table, core.config, products=0)


def striped(make, need):
    unit = make(256, 4, 16, 20)
    return unit, need(unit.config)


#: name -> unit, estimate
UNITS = {
    "read_engine": lambda: (ReadEngine(WIDE), estimate.read_engine(WIDE)),
    "narrow_read_engine": lambda: (ReadEngine(NARROW), estimate.read_engine(NARROW)),
    "write_engine": lambda: (WriteEngine(WIDE), estimate.write_engine(WIDE)),
    "narrow_write_engine": lambda: (WriteEngine(NARROW), estimate.write_engine(NARROW)),
    "read_interconnect": lambda: (ReadInterconnect(PORTS), estimate.read_interconnect(PORTS)),
    "write_interconnect": lambda: (WriteInterconnect(PORTS), estimate.write_interconnect(PORTS)),
    "striped_read": lambda: striped(StripedRead, estimate.striped_read),
    "striped_write": lambda: striped(StripedWrite, estimate.striped_write),
    "upsizer": lambda: (Upsizer(512, 128), estimate.upsizer(512, 128)),
    "downsizer": lambda: (Downsizer(512, 256), estimate.downsizer(512, 256)),
    "sequencer": lambda: sequencer(512, 128),
    "narrow_sequencer": lambda: sequencer(128, 192),
    **{f"control_{name}": lambda name=name: control(name) for name in ("gae", "replay", "a3c")},
    **{f"dispatcher_{name}": lambda name=name: dispatcher(name) for name in DESIGNS},
}


@pytest.mark.long
@pytest.mark.parametrize("name", UNITS)
def test_area(name):
    """Within a tenth: yosys changes from version to version."""
    unit, need = UNITS[name]()
    found = mapped_unit(unit, name, flatten=False)
    assert need.lut == pytest.approx(found["lut"], rel=0.1, abs=20)
    assert need.ff == pytest.approx(found["ff"], rel=0.12 if "dispatcher" in name else 0.01, abs=4)
    assert (need.bram36 or 0) == pytest.approx(found["bram36"], abs=1)


SHARED = InterconnectConfig(ports=4, depth=64, burst_beats=8)
MANY = InterconnectConfig(data_width=64, ports=6, depth=64, burst_beats=64, bursts=64)


@pytest.mark.parametrize(
    "need, lut, ff",
    [
        (estimate.read_engine(EngineConfig()), 255, 206),
        (estimate.write_engine(EngineConfig()), 344, 256),
        (estimate.read_interconnect(SHARED), 3418, 834),
        (estimate.write_interconnect(MANY), 2411, 1366),
        (estimate.sequencer(128, 256), 1983, 768),
        (estimate.sequencer(512, 192), 1248, 378),  # four beats of status
        (estimate.upsizer(512, 128), 10, 516),
        (estimate.downsizer(512, 128), 520, 515),
    ],
)
def test_as_yosys_mapped_it(need, lut, ff):
    """Taken down once."""
    assert need.lut == pytest.approx(lut, rel=0.07)
    assert need.ff == ff
