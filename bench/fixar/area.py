"""Resources of the whole kernel ``fixar``, in the rows of FIXAR's Table I: what yosys maps, with
registers and adders packed into DSP blocks, what ``estimate`` says, and what the paper's kernel
takes."""

from dataclasses import replace

from bench import area, row
from bench.fixar.cycles import case_of, config_of
from hw.estimate import RESOURCES
from hw.fixar.config import FixarKernelConfig

__all__ = ["BARS", "TABLE_I", "mapped", "rows"]

#: FIXAR, Table I, for a U50: LUTs, flip-flops, RAMB36, URAM, DSP blocks.
TABLE_I = {
    "PEs": (216_300, 161_800, 0, 0, 2295),
    "on-chip memory": (10_300, 0, 584, 128, 0),
    "Adam": (46_700, 70_200, 0, 0, 3),
    "control": (69_000, 45_400, 0, 0, 0),
    "kernel interface": (68_800, 15_200, 12, 0, 0),
    "HBM interface": (8_200, 13_100, 2, 0, 0),
}
#: The paper's LUTs without those of PCIe and of the HBM interface, and all of its DSP blocks.
_PAPER = {"lut": 411_000, "dsp": 2302}
#: Limits for the whole kernel of two cores.
BARS = {"lut": 200_000, "dsp": 1650, "uram": 486, "bram36": 902}

#: Module, by its path in the kernel -> the row in which it and its submodules are counted.
_ROWS = {
    r"rlfabric_aap_core_\w+\.(array|accumulators)": "PEs",
    r"rlfabric_aap_core_\w+\.(x|e|action)": "on-chip memory",
    r"rlfabric_aap_core_\w+\.results\.(next_)?q_memory": "on-chip memory",
    r"rlfabric_aap_core_\w+\.accumulators\.psum": "on-chip memory",
    r"core\.learner\.parameters\.memories": "on-chip memory",
    r"core\.learner\.samples\.memory": "on-chip memory",
    r"core\.learner\.parameters\.update": "Adam",
    r"core\.learner": "control",
    r"core\.replay": "replay memory",
    r"core": "kernel interface",
    r"\w+_(reader|writer)": "HBM interface",
}
_SOURCE = "estimate: yosys for UltraScale+, DSP blocks packed, module by module"


def mapped(config):
    """``{row of FIXAR's Table I: {lut, ff, bram36, uram, dsp}}`` of the kernel ``fixar`` with
    ``config``, by yosys, which takes five minutes."""
    return area.mapped("fixar", config, _ROWS, "kernel interface")


def rows():
    """The list of rows of resources of the kernel with two cores, batches of up to 512 and a replay
    memory of 2^20 experiences: the whole kernel, a PE, and each row of FIXAR's Table I."""
    config = replace(FixarKernelConfig(), learner=config_of("HalfCheetah"))
    case = f"{case_of(config.learner, 'both', 512)}, N={config.replay.capacity}"
    units = mapped(config)
    whole = area.whole_of(units)
    result = [
        row("fixar", case, name, whole[name], "cells",
            reference=_PAPER.get(name) and "FIXAR, Table I",
            reference_value=_PAPER.get(name), source=_SOURCE)
        for name in RESOURCES
    ]  # fmt: skip
    result += area.judged("fixar", "fixar", config, case, whole, BARS, _SOURCE)
    pes = config.learner.cores * config.learner.side**2
    for name, paper, most in (("dsp", 4.48, 2.0), ("lut", 422, 60)):
        value = round(units["PEs"][name] / pes, 2)
        result += [
            row("fixar", case, f"{name}_per_pe", value, "cells", reference=reference,
                reference_value=limit, source=_SOURCE)
            for reference, limit in (("FIXAR, Table I", paper), ("at most", most))
        ]  # fmt: skip
    for unit, cells in units.items():
        paper = TABLE_I.get(unit, (None,) * len(RESOURCES))
        result += [
            row("fixar", f"{case}: {unit}", name, cells[name], "cells",
                reference=unit in TABLE_I and "FIXAR, Table I" or None, reference_value=value,
                source=_SOURCE)
            for name, value in zip(RESOURCES, paper, strict=True)
        ]  # fmt: skip
    return result
