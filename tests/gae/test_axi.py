"""The kernel ``gae`` on AXI models that nobody here wrote, under back-pressure."""

import axi
import pytest
from gae.bad_commands import BAD
from gae.gae_programs import CLOCKS, RandomRollouts, kernel_config
from later import later


@pytest.mark.parametrize(
    "data_width, gap, every", [later(128, 0.3, 1), later(512, 0.4, 1), later(512, 0.4, 4)]
)
def test_rollouts_under_back_pressure(simulate, tmp_path, data_width, gap, every):
    """Every command; each error once, or each ``every``-th, for ``test_kernel`` has them all. The
    first also where other things come first at time 0."""
    config = kernel_config(data_width, rows=3, depth=9)
    source, bads = RandomRollouts(config, seed=data_width), list(BAD)[::every]
    launches = [source.program(bad) for bad in (None, None, *bads)]
    codes = [0, 0, *(int(BAD[bad]) for bad in bads)]
    outcomes = [
        [launch.command_count - (2 if code else 0), code]
        for launch, code in zip(launches, codes, strict=True)
    ]
    axi.run(simulate, tmp_path, "gae", config, launches, outcomes, gap=gap, clocks=CLOCKS,
            again="icarus-2005" if data_width == 128 else None)  # fmt: skip
