"""The kernel ``replay``: its Verilog against its twin, byte for byte."""

import axi
import pytest
from replay.kernels import kernel_config
from replay.programs import CLOCKS, tour

from hw.replay.records import Error


@pytest.mark.parametrize(
    "data_width, granules, gap",
    [
        (128, 3, 0.3),
        pytest.param(512, 4, 0.0, marks=pytest.mark.long),
        pytest.param(512, 5, 0.3, marks=pytest.mark.long),
    ],
)
def test_every_command_under_back_pressure(simulate, tmp_path, data_width, granules, gap):
    """Without pauses also where other things come first at time 0."""
    config = kernel_config(data_width, capacity=37, fanout=4)
    outcomes = [[4, 0], [9, 0], [0, Error.INDEX], [4, 0], [0, 0]]
    launches = tour(config, granules)
    axi.run(simulate, tmp_path, "replay", config, launches, outcomes, gap=gap, clocks=CLOCKS,
            again=None if gap else "icarus-2005")  # fmt: skip
