"""hw.uart.lite against a slave that we did not write; hw.uart.identity is read in test_system."""

import pytest

from hw.uart.lite import LiteMaster


@pytest.mark.verilator
@pytest.mark.parametrize("gap", [0.0, 0.5])
def test_lite(simulate, gap):
    simulate(LiteMaster(), "uart.lite_bench", gap=gap, seed=4)
