"""The lookup tables and registers that units say they take are those that yosys maps."""

import pytest

from boards.area import synthesize
from hw.fa3c.unit.pe import PE
from hw.verilog import to_verilog
from sim.tools import BUILD_DIRECTORY

#: name -> unit, estimate
UNITS = {"pe": lambda: (PE(), PE.estimate())}


@pytest.mark.long
@pytest.mark.parametrize("name", UNITS)
def test_area(name):
    """Within a tenth: yosys changes from version to version."""
    unit, estimate = UNITS[name]()
    found = synthesize(to_verilog(unit, name=name), name, work=BUILD_DIRECTORY / "area")
    assert found["dsp"] == estimate.dsp
    for resource in ("lut", "ff"):
        assert found[resource] == pytest.approx(getattr(estimate, resource), rel=0.1)
