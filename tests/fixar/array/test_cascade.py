"""A column of the array in DSP blocks: operands, products, sums, and the blocks' own wires."""

import pytest

from boards.area import netlist
from hw.area import area
from hw.fixar.array.column import Column
from hw.verilog import to_verilog
from system.tools import BUILD_DIRECTORY


@pytest.mark.long
def test_two_blocks_a_pe_and_nothing_else():
    """Of a chain's blocks all but the first one get the sum above by PCIN. Beside the blocks are
    the following operands alone, for which yosys takes no register of a block."""
    side = 16
    cells = netlist(
        to_verilog(Column(side), name="column"),
        "column",
        work=BUILD_DIRECTORY / "area",
        family="xcup_dsp",
    )
    blocks = [cell for cell in cells if cell["type"] == "DSP48E2"]
    estimate = area("fixar.array.column", side=side)
    assert len(blocks) == estimate.dsp == 2 * side
    cascaded = [cell for cell in blocks if set(cell["connections"]["PCIN"]) - set("01x")]
    assert len(cascaded) == 2 * (side - 1)
    for cell in blocks:
        for register in ("AREG", "BREG", "MREG", "PREG"):
            assert int(cell["parameters"][register], 2) == 1, register
    others = [cell["type"] for cell in cells if cell["type"] != "DSP48E2"]
    assert others == ["FDRE"] * estimate.ff and estimate.lut == 0
