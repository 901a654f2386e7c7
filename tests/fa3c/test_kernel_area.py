"""The resources that the kernel estimates for itself equal those that yosys maps, and keep their
limits."""

from dataclasses import replace

import pytest

from bench.fa3c.area import BARS, OPTIONS, TABLE_4, mapped
from bench.results import Results
from hw.estimate import RESOURCES
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.estimate import compute_unit, estimate, pe_array, suggest

#: FA3C's; the network of MinAtar on one pair of 32 PEs.
CONFIGS = {
    "atari": Fa3cConfig(),
    "minatar": Fa3cConfig(
        height=10,
        width=10,
        convolutions=((16, 3, 1),),
        hidden=(128,),
        outputs=7,
        input_exponent=0,
        lanes=2,
        units=("infer", "train"),
        parameter_rows=1024,
    ),
}


@pytest.fixture(scope="module", params=CONFIGS)
def units(request):
    """Config, and what its units take."""
    config = CONFIGS[request.param]
    return config, mapped(config)


@pytest.mark.long
def test_whole_kernel(units):
    """Within a tenth, minutes each."""
    config, found = units
    whole = {name: sum(unit[name] for unit in found.values()) for name in RESOURCES}
    for name, need in estimate(config).resources.items():
        assert need == pytest.approx(whole[name], rel=0.1), name
        if config == Fa3cConfig():
            assert whole[name] <= BARS[name]


@pytest.mark.long
def test_every_row_of_the_table_has_its_units(units):
    """None is empty; PEs alone have the multipliers that the paper's have, and RMSProp."""
    config, found = units
    assert set(found) == {*TABLE_4, "rounds and commands"}
    assert all(unit["lut"] for unit in found.values())
    assert found["PEs"]["dsp"] == 2 * 16 * config.lanes * len(config.units)
    # A row of each TLU is in registers; its patches are in lookup tables.
    assert 512 <= found["TLU"]["ff"] / config.units.count("train") < 1024


#: layout -> lookup tables, registers and blocks of a unit that trains, of one lane, for MinAtar.
UNITS = {"tlu": (19248, 16161, 22), "alt1": (17578, 15669, 22)}


@pytest.mark.parametrize("layout", UNITS)
def test_a_unit_as_yosys_mapped_it(layout):
    """Taken down once."""
    config = replace(CONFIGS["minatar"], layout=layout, lanes=1, drain_words=1)
    lut, ff, bram36 = UNITS[layout]
    need = compute_unit(config, "train")
    assert need.lut == pytest.approx(lut, rel=0.1)
    assert need.ff == pytest.approx(ff, rel=0.1)
    assert need.bram36 == bram36


@pytest.mark.parametrize("lanes, lut", [(1, 740), (2, 1248), (4, 2240), (8, 4480)])
def test_columns_as_yosys_mapped_them(lanes, lut):
    """What an array with the layout "alt1" has more. Taken down once."""
    found = {
        layout: pe_array(replace(CONFIGS["minatar"], layout=layout, lanes=lanes))
        for layout in ("tlu", "alt1")
    }
    assert found["alt1"].lut - found["tlu"].lut == pytest.approx(lut, rel=0.08)


def test_the_default_kernel_as_yosys_mapped_it():
    """Taken down once."""
    need = estimate(Fa3cConfig())
    assert need.lut == pytest.approx(261_752, rel=0.1)
    assert need.ff == pytest.approx(267_234, rel=0.1)
    assert (need.bram36, need.uram, need.dsp) == (75.5, 250, 681)


@pytest.mark.parametrize("case", OPTIONS)
def test_kernels_with_other_options_as_yosys_mapped_them(case):
    """As the bench took them down."""
    need, found = estimate(OPTIONS[case]).resources, Results.of("fa3c")
    for name, rel in dict(lut=0.03, ff=0.03, bram36=0.02, uram=0, dsp=0).items():
        mapped_by_yosys = found.beside(f"{case}: whole kernel", f"{name}_estimate")
        assert need[name] == pytest.approx(mapped_by_yosys, rel=rel), name


def test_a_smaller_kernel_is_suggested():
    """Each change by itself: lanes down to those with which the estimate is small enough."""
    config, limit = Fa3cConfig(), 215_000
    found = suggest(config, lambda other: estimate(other).lut <= limit)
    assert found == ["lanes 2", "units infer,train"]
