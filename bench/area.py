"""The area of a whole kernel as yosys maps it, by the rows of a paper's table."""

import re

from bench import row
from boards.area import grouped, modules, packing
from hw.designs import DESIGNS
from hw.estimate import RESOURCES
from hw.verilog import to_verilog
from system.tools import BUILD_DIRECTORY

__all__ = ["judged", "mapped", "row_of", "whole_of"]


def row_of(paths, design, name):
    """The row of a paper's table in which the module ``name`` of a kernel of ``design`` is counted.

    ``paths`` is ``{regular expression of a module's path in the kernel: row}``; the row is also
    that of the modules inside. The first expression that matches the whole path counts. None if
    none does: then the module is counted in the row of the module around it. Yosys and Amaranth add
    numbers to some names that are alike.
    """
    name = re.sub(r"\$\d+", "", name.removeprefix(f"{design}."))
    return next((group for path, group in paths.items() if re.fullmatch(path, name)), None)


def mapped(design, config, paths, rest, family="xcup"):
    """``{row: {lut, ff, bram36, uram, dsp}}`` of the kernel of ``design`` with ``config``, mapped
    by yosys to ``family``, which takes minutes.

    ``paths`` is as in ``row_of``; ``rest`` is the row of all modules for which it has none.
    """
    family = packing(family, DESIGNS[design].packed)
    verilog = to_verilog(DESIGNS[design].kernel(config), name=design)
    found = modules(verilog, design, work=BUILD_DIRECTORY / "area", family=family)
    return grouped(
        found, design, lambda name: rest if name == design else row_of(paths, design, name)
    )


def whole_of(units):
    """``{lut, ff, bram36, uram, dsp}``: the sum of all rows of ``units``, a result of
    ``mapped``."""
    return {name: sum(unit[name] for unit in units.values()) for name in RESOURCES}


def judged(bench, design, config, case, whole, bars, source):
    """The list of result rows of a whole kernel: mapped resources beside limits, estimates beside
    mapped resources.

    ``whole`` is ``{resource: mapped count}``. ``bars`` is ``{resource: limit}``; there is a row for
    each limit. There is a row for each resource that the design's own estimate for ``config``
    knows.
    """
    found = [
        row(bench, case, name, whole[name], "cells", reference="at most", reference_value=limit,
            source=source)
        for name, limit in bars.items()
    ]  # fmt: skip
    estimate = DESIGNS[design].estimate(config).resources
    return found + [
        row(bench, case, f"{name}_estimate", round(value, 1), "cells", reference="mapped",
            reference_value=whole[name], source="the kernel's own estimate")
        for name, value in estimate.items()
        if value is not None
    ]  # fmt: skip
