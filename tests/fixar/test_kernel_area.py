"""What the whole kernel says it takes is what yosys maps it to, and no more than it should be."""

import pytest
from fixar.test_estimate import LARGE, PENDULUM, SMALLER, THREE_CORES

from bench.area import mapped, whole_of
from bench.fixar import area
from hw.fixar.estimate import estimate, parts

CONFIGS = {"large": LARGE, "three cores": THREE_CORES, "smaller": SMALLER, "Pendulum": PENDULUM}

_CORE = r"rlfabric_aap_core_\w+"
#: Module, by its path in the kernel -> the part of the estimate that it is.
_PARTS = {
    rf"{_CORE}\.array": "arrays",
    rf"{_CORE}\.accumulators": "accumulators",
    rf"{_CORE}\.(x|e|action)": "cells",
    rf"{_CORE}\.results\.(next_)?q_memory": "cells",
    _CORE: "cores",
    r"core\.learner\.parameters": "parameters",
    r"core\.learner": "shared",
}


@pytest.fixture(scope="module", params=CONFIGS)
def config(request):
    return CONFIGS[request.param]


@pytest.mark.long
def test_kinds_of_modules(config):
    """Lookup tables and registers within a tenth, or, of what is small, a hundredth of the kernel;
    DSP blocks but for a product that is too narrow for one; minutes each."""
    found, whole = mapped("fixar", config, _PARTS, "kernel"), estimate(config).resources
    assert set(found) == set(parts(config))
    for kind, need in parts(config).items():
        assert need.dsp - found[kind]["dsp"] in (0, 1), kind
        for name in ("lut", "ff"):
            near = pytest.approx(found[kind][name], rel=0.1, abs=0.01 * whole[name])
            assert getattr(need, name) == near, (kind, name)
    assert whole == pytest.approx(whole_of(found), rel=0.1)


@pytest.mark.long
def test_rows_of_the_table(config):
    """None is empty; those of the PEs have the DSP blocks of the arrays; the largest kernel is
    within the bars."""
    found = area.mapped(config)
    assert set(found) == {*area.TABLE_I, "replay memory"}
    assert all(unit["lut"] for unit in found.values())
    assert found["PEs"]["dsp"] == parts(config)["arrays"].dsp
    if config is LARGE:
        whole = whole_of(found)
        assert all(whole[name] <= bar for name, bar in area.BARS.items())
