"""What arrays, accumulators and transposers say they take is what yosys maps; and a PE is small."""

import pytest
from mapped_unit import mapped_unit

from hw.fixar.array.accumulators import Accumulators
from hw.fixar.array.array import PeArray
from hw.fixar.estimate import accumulators, pe_array
from hw.stream.estimate import transpose
from hw.stream.transpose import Transpose

#: name -> unit, estimate
UNITS = {
    "array_4": lambda: (PeArray(4), pe_array(4)),
    "array_16": lambda: (PeArray(16), pe_array(16)),
    "foot_4": lambda: (Accumulators(4, depth=512, width=60), accumulators(4, 512, width=60)),
    "accumulators_16": lambda: (Accumulators(16, depth=512), accumulators(16, depth=512)),
    "transpose_4": lambda: (Transpose(32, 4), transpose(32, 4)),
    "transpose_16": lambda: (Transpose(27, 16), transpose(27, 16)),
}


@pytest.mark.long
@pytest.mark.parametrize("name", UNITS)
def test_area(name):
    """Within a tenth: yosys changes from version to version."""
    unit, estimate = UNITS[name]()
    found = mapped_unit(unit, name, family="xcup_dsp", flatten=False)
    assert (found["dsp"], found["bram36"]) == (estimate.dsp, estimate.bram36 or 0)
    for resource in ("lut", "ff"):
        assert found[resource] == pytest.approx(getattr(estimate, resource), rel=0.1)


def test_a_pe_is_small():
    """Two DSP blocks, and with its accumulator a tenth of the paper's 422 lookup tables."""
    array, sums = pe_array(16), accumulators(16, depth=512)
    assert array.dsp + sums.dsp == 2 * 16 * 16
    assert array.lut + sums.lut <= 42 * 16 * 16
