"""Resources of the whole kernel ``a3c``, in the rows of FA3C's Table 4: what yosys maps, what
``estimate`` says, and what the paper's kernel takes."""

from bench import area, row
from bench.fa3c.alternatives import CASES
from bench.fa3c.rounds import PAIRS
from hw.fa3c.config import Fa3cConfig

__all__ = ["BARS", "OPTIONS", "TABLE_4", "mapped", "options", "rows"]

#: FA3C, Table 4, for a VU9P: LUTs, registers, memory blocks of both kinds together, DSP blocks.
TABLE_4 = {
    "PEs": (188_800, 252_600, 0, 2048),
    "parameter buffer": (20_800, 1_700, 256, 0),
    "gradient buffer": (8_900, 600, 128, 0),
    "feature map buffer": (9_200, 1_200, 192, 0),
    "BCU": (72_100, 111_000, 0, 0),
    "RMSProp": (53_400, 64_800, 216, 288),
    "muxes": (50_100, 50_100, 16, 0),
    "TLU": (17_000, 35_100, 16, 0),
    "DDR-CU interconnect": (83_300, 136_200, 263, 0),
}
#: Limits for the whole kernel.
BARS = {"lut": 350_000, "ff": 450_000, "bram36": 200, "uram": 300, "dsp": 700}

#: A pair with each layout of parameters, and kernels with more masters.
OPTIONS = {
    name: Fa3cConfig(**settings)
    for name, settings in {
        **{name: CASES[name] for name in CASES if name.startswith("one pair")},
        "2 pairs of 64 PEs, theta and squares apart, 4 local masters": dict(
            global_masters=2, local_masters=4
        ),
        "4 pairs of 64 PEs, theta and squares apart, 8 local masters": PAIRS
        | dict(units=("infer", "train") * 4, global_masters=2, local_masters=8),
    }.items()
}

_TABLE = "FA3C, Table 4"
_SHELL = f"{_TABLE}, less DDR4 controllers and PCIe DMA"
_SOURCE = "estimate: yosys for UltraScale+, module by module"
#: Name of the row for all that Table 4 does not have: commands, registers, the order of a round.
_ROUND = "rounds and commands"
#: Module, by its path in the kernel -> the row in which it and its submodules are counted.
#: ``Schedule`` and the loops for the places of outputs count as BCU. The array without its PEs
#: drives the PEs, and counts as muxes.
_ROWS = {
    r"rlfabric_pe": "PEs",
    r"core\.unit_\d\.array": "muxes",
    r"core\.unit_\d\.drain": "muxes",
    r"core\.unit_\d\.parameters": "parameter buffer",
    r"core\.gradients_\d": "gradient buffer",
    r"core\.unit_\d\.features": "feature map buffer",
    r"core\.unit_\d\.held\.tlu": "TLU",
    r"core\.unit_\d\.(load|store)": "DDR-CU interconnect",
    r"core\.unit_\d": "BCU",
    r"core\.rms": "RMSProp",
    r"core\.\w+_(reads|writes|stripes|width)": "DDR-CU interconnect",
    r"\w+_(reader|writer)": "DDR-CU interconnect",
}


def mapped(config):
    """``{row of FA3C's Table 4: {lut, ff, bram36, uram, dsp}}`` of the kernel ``a3c`` with
    ``config``, by yosys, which takes minutes. What Table 4 does not have is "rounds and
    commands"."""
    return area.mapped("a3c", config, _ROWS, _ROUND)


def rows():
    """The list of result rows of the default kernel's resources: of the whole kernel, then of each
    row of FA3C's Table 4, beside the paper's; and those of ``options``."""
    config = Fa3cConfig()
    case = f"{len(config.units) // 2} pairs x {16 * config.lanes} PEs, Atari network"
    units = mapped(config)
    whole = area.whole_of(units)
    paper = [sum(column) for column in zip(*TABLE_4.values(), strict=True)]
    found = _compared(case, whole, paper, _SHELL)
    found += area.judged("fa3c", "a3c", config, case, whole, BARS, _SOURCE)
    for unit in (*TABLE_4, _ROUND):
        found += _compared(f"{case}: {unit}", units[unit], TABLE_4.get(unit), _TABLE)
    return [*found, *(each for case in OPTIONS for each in options(case))]


def options(case):
    """The list of result rows of the kernel ``case`` of ``OPTIONS``: what it takes by its own
    estimate, beside what yosys maps."""
    config = OPTIONS[case]
    whole = area.whole_of(mapped(config))
    return area.judged("fa3c", "a3c", config, f"{case}: whole kernel", whole, {}, _SOURCE)


def _compared(case, cells, paper, reference):
    """A row for each resource, and one for memory blocks of both kinds, as Table 4 counts them."""
    cells = cells | {"blocks": cells["bram36"] + cells["uram"]}
    paper = dict(zip(("lut", "ff", "blocks", "dsp"), paper or (), strict=bool(paper)))
    return [
        row("fa3c", case, name, value, "cells", reference=reference if name in paper else None,
            reference_value=paper.get(name), source=_SOURCE)
        for name, value in cells.items()
    ]  # fmt: skip
