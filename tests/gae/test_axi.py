"""The kernel ``gae`` on AXI models that nobody here wrote, under back-pressure."""

import axi
import pytest
from gae.bad_commands import BAD
from gae.gae_programs import CLOCKS, RandomRollouts, kernel_config


@pytest.mark.parametrize(
    "data_width, gap", [pytest.param(128, 0.3, marks=pytest.mark.long), (512, 0.4)]
)
def test_rollouts_under_back_pressure(simulate, tmp_path, data_width, gap):
    """Every command; each error once. The long one also where other things come first at time 0."""
    config = kernel_config(data_width, rows=3, depth=9)
    source = RandomRollouts(config, seed=data_width)
    launches = [source.program(bad) for bad in (None, None, *BAD)]
    codes = [0, 0, *(int(code) for code in BAD.values())]
    outcomes = [
        [launch.command_count - (2 if code else 0), code]
        for launch, code in zip(launches, codes, strict=True)
    ]
    axi.run(simulate, tmp_path, "gae", config, launches, outcomes, gap=gap, clocks=CLOCKS,
            again="icarus-2005" if data_width == 128 else None)  # fmt: skip
