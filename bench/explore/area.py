"""Estimates of kernels that the search proposes, beside what yosys maps.

No number of an estimate was made from these kernels, but that which products of small screens in
``a3c`` take no DSP blocks: they are points on the front, chosen by their size alone.
"""

import boards
from bench import row
from bench.area import mapped
from boards.explore import explore
from hw.designs import DESIGNS
from hw.estimate import RESOURCES
from hw.suggest import listed

__all__ = ["BARS", "proposed", "rows"]

#: Lookup tables of a kernel that is mapped in minutes: the point of the front nearest to them.
_TABLES = 70_000
#: How far an estimate may be off: a share of the mapped count, or a number of cells.
BARS = {"lut": (0.10, 0), "ff": (0.10, 0), "bram36": (0.07, 4), "uram": (0.01, 2), "dsp": (0.01, 2)}


def proposed():
    """``{design: Point}`` for the ZCU106, which has the fewest resources of the large boards."""
    board, result = boards.get("zcu106"), {}
    for name, design in DESIGNS.items():
        found = explore(design, board, design.default(board.numbers))
        front = [point for point in found.front if point.costs != found.default.costs]
        result[name] = min(front, key=lambda point: abs(point.resources["lut"] - _TABLES))
    return result


def rows():
    """The list of rows lut, ff, bram36, uram and dsp of one kernel of each design: the estimate,
    with the mapped count as reference."""
    result = []
    for name, point in proposed().items():
        whole = mapped(name, point.config, {}, "kernel")["kernel"]
        values = listed({key.rpartition(".")[2]: value for key, value in point.values.items()})
        result += [
            row("explore", f"{name} on ZCU106: {values}", f"{each}_estimate",
                point.resources[each], "cells", reference="mapped", reference_value=whole[each],
                source="the kernel's own estimate; yosys for UltraScale+, module by module")
            for each in RESOURCES
        ]  # fmt: skip
    return result
