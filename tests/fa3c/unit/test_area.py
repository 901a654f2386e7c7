"""The lookup tables and registers that units estimate are those that yosys maps."""

import pytest
from mapped_unit import mapped_unit

from hw.area import area
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.estimate import drain
from hw.fa3c.unit.drain import Drain
from hw.fa3c.unit.pe import PE

#: name -> unit, estimate
UNITS = {
    "pe": lambda: (PE(), area("fa3c.unit.pe")),
    "drain_1_2": lambda: _drain(1, 2),
    "drain_2_4": lambda: _drain(2, 4),
    "drain_4_2": lambda: _drain(4, 2),
}


def _drain(lanes, drain_words):
    config = Fa3cConfig(lanes=lanes, drain_words=drain_words)
    return Drain(config), drain(config)


@pytest.mark.long
@pytest.mark.parametrize("name", UNITS)
def test_area(name):
    """Within a tenth: yosys changes from version to version."""
    unit, estimate = UNITS[name]()
    found = mapped_unit(unit, name)
    assert found["dsp"] == estimate.dsp
    for resource in ("lut", "ff"):
        assert found[resource] == pytest.approx(getattr(estimate, resource), rel=0.1)
