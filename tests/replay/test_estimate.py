"""What the kernel ``replay`` takes: as yosys maps it; what is said where it is too much."""

import re
from dataclasses import replace

import pytest

import boards
from host.kernels import configure
from hw.designs import DESIGNS
from hw.estimate import RESOURCES, fits
from hw.replay.config import ReplayConfig, ReplayKernelConfig
from hw.replay.estimate import estimate, parts
from hw.shell.axi import EngineConfig

DESIGN = DESIGNS["replay"]


def kernel(capacity, fanout, width, fraction, ultra_ram, *engine):
    names = ("data_width", "depth", "burst_beats", "bursts")
    return ReplayKernelConfig(
        replay=ReplayConfig(
            capacity=capacity,
            fanout=fanout,
            priority_width=width,
            priority_fraction=fraction,
            ultra_ram=ultra_ram,
        ),
        engine=EngineConfig(**dict(zip(names, engine, strict=True))),
    )


#: Kernels from which the estimate was made, and LUT, FF, RAMB36, URAM, DSP that yosys mapped.
FITTED = {
    "K=16": (kernel(1 << 20, 16, 24, 16, True, 512, 256, 64, 64), (42789, 22406, 39.5, 187, 24)),
    "small": (kernel(4096, 16, 24, 16, False, 128, 64, 16, 16), (21632, 12840, 9, 0, 24)),
    "K=4": (kernel(1 << 16, 4, 16, 8, True, 256, 512, 32, 32), (18660, 13872, 21, 8, 22)),
    "K=64": (kernel(1 << 20, 64, 24, 16, True, 512, 1024, 16, 128), (71851, 38262, 93.5, 191, 24)),
    "K=8": (kernel(1000, 8, 32, 20, False, 512, 64, 4, 8), (25999, 15418, 4.5, 0, 24)),
    "K=32": (kernel(300_000, 32, 20, 12, True, 128, 2048, 256, 256), (36889, 20996, 50.5, 55, 24)),
    "K=2": (kernel(20_000, 2, 12, 4, True, 256, 128, 8, 64), (17501, 14077, 21.5, 4, 22)),
}
#: The same of kernels from which no number of the estimate was made.
UNSEEN = {
    "u50": (kernel(1 << 18, 16, 24, 16, True, 512, 256, 16, 64), (35107, 20896, 45.5, 46, 24)),
    "ulx3s": (kernel(4096, 16, 24, 16, False, 128, 16, 8, 4), (21207, 12774, 9, 0, 24)),
    "K=64": (kernel(500_000, 64, 18, 10, True, 256, 128, 4, 20), (56612, 31639, 44.5, 73, 24)),
    "K=4": (kernel(70_000, 4, 28, 12, False, 512, 1024, 8, 32), (25749, 18077, 190.5, 0, 24)),
    "K=32": (kernel(1500, 32, 10, 5, True, 256, 100, 16, 100), (21153, 13128, 19, 0, 22)),
    "K=8": (kernel(150_000, 8, 26, 16, True, 128, 256, 64, 64), (24714, 16082, 13.5, 34, 24)),
    "large": (kernel(1 << 21, 8, 22, 16, True, 512, 512, 64, 16), (43254, 19955, 35.5, 354, 24)),
    "tiny": (kernel(100, 16, 8, 0, True, 256, 64, 64, 4), (15560, 9691, 0.5, 0, 20)),
}


@pytest.mark.parametrize(
    "config, mapped",
    [
        pytest.param(*case, id=f"{kind}, {name}")
        for kind, cases in (("fitted", FITTED), ("unseen", UNSEEN))
        for name, case in cases.items()
    ],
)
def test_as_yosys_mapped_it(config, mapped):
    """Taken down once; ``test_kernel_area.py`` maps those that are unseen."""
    found, mapped = estimate(config).resources, dict(zip(RESOURCES, mapped, strict=True))
    assert found["lut"] == pytest.approx(mapped["lut"], rel=0.03)
    assert found["ff"] == pytest.approx(mapped["ff"], rel=0.005)
    assert found["bram36"] == pytest.approx(mapped["bram36"], rel=0.07, abs=4)
    assert found["uram"] == pytest.approx(mapped["uram"], rel=0.01)
    assert found["dsp"] == mapped["dsp"]


#: Of the kernel "u50", the lookup tables and registers of each unit.
UNITS = {
    "commands": (1632, 1423),
    "tree": (16_150, 8994),
    "table": (1661, 644),
    "draw": (1285, 893),
    "manager": (658, 734),
    "items": (1606, 932),
    "gather": (6240, 3730),
    "insert": (1057, 1236),
    "core": (788, 413),
    "control": (906, 603),
    "sequencer": (1257, 378),
    "engines": (1867, 916),
}


def test_units_as_yosys_mapped_them():
    found = parts(UNSEEN["u50"][0])
    assert set(found) == set(UNITS)
    for unit, (lut, ff) in UNITS.items():
        # Lookup tables that choose among blocks of UltraRAM come in leaps.
        near = 0.12 if unit == "table" else 0.06
        assert found[unit].lut == pytest.approx(lut, rel=near), unit
        assert found[unit].ff == pytest.approx(ff, rel=0.01), unit


def replay(config, **changes):
    return replace(config, replay=replace(config.replay, **changes))


def test_more_needs_more():
    base = ReplayKernelConfig()
    need = estimate(base)
    for changes, names in (
        (dict(fanout=32), ["lut", "ff"]),
        (dict(priority_width=26), ["lut", "ff"]),
        (dict(capacity=1 << 21), ["lut", "ff", "uram"]),
        (dict(ultra_ram=False), ["bram36"]),
    ):
        for name in names:
            assert getattr(estimate(replay(base, **changes)), name) > getattr(need, name), changes
    narrow = replace(base, engine=replace(base.engine, data_width=128, burst_beats=16))
    units, narrower = parts(base), parts(narrow)
    for name in ("items", "gather", "insert", "commands", "engines"):
        assert narrower[name].lut < units[name].lut, name
    for name in ("tree", "table", "draw", "manager", "control"):
        assert narrower[name] == units[name], name


@pytest.mark.parametrize(
    "board, capacity", [("u200", 1 << 20), ("u50", 1 << 20), ("zcu106", 1 << 18), ("ulx3s", 4096)]
)
def test_defaults_fit(board, capacity):
    found = boards.get(board)
    config = configure(DESIGN, found, {})
    assert config.replay.capacity == capacity and fits(DESIGN.estimate(config), found.numbers)


def test_too_many_lookup_tables_are_refused_with_what_would_fit():
    board, values = boards.get("ulx3s"), {"capacity": 4096, "priority_width": 32, "fanout": 64}
    message = (
        r"^lut must be at most 67713 on ULX3S-85F \(the usable share\), not \d+; "
        r"capacity (\d+) fits; fanout 16 fits$"
    )
    with pytest.raises(boards.DoesNotFit, match=message) as caught:
        configure(DESIGN, board, values)
    capacity = int(re.search(message, str(caught.value))[1])
    for changes in ({"capacity": capacity}, {"fanout": 16}):
        configure(DESIGN, board, values | changes)
    with pytest.raises(boards.DoesNotFit, match="lut must be"):
        configure(DESIGN, board, values | {"capacity": capacity + 1})
