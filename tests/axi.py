"""Whole kernels on AXI models that nobody here wrote, under back-pressure on every channel."""

import numpy as np

from hw.designs import DESIGNS

__all__ = ["run"]


def run(simulate, folder, design, config, launches, outcomes, *, gap, clocks, unknown=None,
        limit_us=400, register=None, again=None):  # fmt: skip
    """Run ``launches`` on the Verilog of ``design``; every byte is the twin's.

    outcomes : list of [commands executed, error], one a launch
    gap : float
        Chance that a channel pauses in a clock.
    clocks : sequence of str
        Fields of the design's status that a twin does not know.
    unknown : list of list of int
        Places of 16 bytes in results that it does not know either.
    limit_us : int
        Hundreds of clocks that a launch may take.
    register : str
        Module whose ``register()`` puts ``design`` into the registries, if they do not list it.
    again : str
        As of ``simulate``: what is written, and in which clock, must be the same there.
    """
    file, arrays = folder / "launches.npz", {}
    for k, launch in enumerate(launches):
        arrays[f"program_{k}"], arrays[f"operands_{k}"] = launch.program, launch.operands
        arrays[f"sizes_{k}"] = np.array([launch.operands_bytes, launch.results_bytes])
        arrays |= {f"own_{k}_{name}": data for name, data in launch.own.items()}
    np.savez(file, **arrays)
    simulate(
        DESIGNS[design].kernel(config),
        "axi_bench",
        name=design,
        again=again,
        design=design,
        config=config.to_dict(),
        launches=str(file),
        unknown=unknown or [[] for _ in launches],
        outcomes=outcomes,
        gap=gap,
        clocks=list(clocks),
        limit_us=limit_us,
        register=register,
        own=[launch.sizes for launch in launches],
    )
    first, *others = [path.read_text() for path in folder.glob("written-*.json")]
    assert all(other == first for other in others), "another order at time 0 must change nothing"
