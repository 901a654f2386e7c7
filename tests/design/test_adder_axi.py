"""The small design on AXI models that nobody here wrote, under back-pressure."""

import axi
from design.adder_programs import BAD, CLOCKS, RandomSums, kernel_config


def test_sums_under_back_pressure(simulate, tmp_path):
    """Every command; each error once."""
    config = kernel_config(256, 64)
    source = RandomSums(config, seed=3)
    launches = [source.program(bad) for bad in (None, *BAD)]
    outcomes = [
        [launch.command_count - (2 if code else 0), code]
        for launch, code in zip(launches, (0, *map(int, BAD.values())), strict=True)
    ]
    axi.run(
        simulate, tmp_path, "adder", config, launches, outcomes,
        gap=0.3, clocks=CLOCKS, register="design.lines",
    )  # fmt: skip
