"""The kernel ``replay``: its Verilog against its twin, byte for byte."""

import pytest
from replay.kernels import kernel_config

from hw.designs import DESIGNS


@pytest.mark.parametrize("data_width, granules, gap", [(512, 5, 0.3), (512, 4, 0.0), (128, 3, 0.3)])
def test_every_command_under_back_pressure(simulate, data_width, granules, gap):
    config = kernel_config(data_width, capacity=37, fanout=4)
    simulate(
        DESIGNS["replay"].kernel(config),
        "replay.kernel_bench",
        name="replay",
        config=config.to_dict(),
        granules=granules,
        gap=gap,
    )
