"""What arrays, feet and transposers say they take is what yosys maps; and a PE is small."""

import pytest

from boards.area import synthesize
from hw.fixar.array.array import Array
from hw.fixar.array.foot import Foot
from hw.stream.transpose import Transpose
from hw.verilog import to_verilog
from sim.tools import BUILD_DIRECTORY

#: name -> unit, estimate
UNITS = {
    "array_4": lambda: (Array(4), Array.estimate(4)),
    "array_16": lambda: (Array(16), Array.estimate(16)),
    "foot_4": lambda: (Foot(4, depth=512, width=60), Foot.estimate(4, depth=512, width=60)),
    "foot_16": lambda: (Foot(16, depth=512), Foot.estimate(16, depth=512)),
    "transpose_4": lambda: (Transpose(32, 4), Transpose.estimate(32, 4)),
    "transpose_16": lambda: (Transpose(27, 16), Transpose.estimate(27, 16)),
}


@pytest.mark.long
@pytest.mark.parametrize("name", UNITS)
def test_area(name):
    """Within a tenth: yosys changes from version to version."""
    unit, estimate = UNITS[name]()
    found = synthesize(
        to_verilog(unit, name=name),
        name,
        work=BUILD_DIRECTORY / "area",
        family="xcup_dsp",
        flatten=False,
    )
    assert (found["dsp"], found["bram36"]) == (estimate.dsp, estimate.bram36 or 0)
    for resource in ("lut", "ff"):
        assert found[resource] == pytest.approx(getattr(estimate, resource), rel=0.1)


def test_a_pe_is_small():
    """Two DSP blocks, and with its part of the foot a tenth of the paper's 422 lookup tables."""
    array, foot = Array.estimate(16), Foot.estimate(16, depth=512)
    assert array.dsp + foot.dsp == 2 * 16 * 16
    assert array.lut + foot.lut <= 42 * 16 * 16
