"""The depth of logic of every unit of every kernel."""

import re

import boards
from bench import row
from boards.depth import depths
from host.kernels import configure
from hw.designs import DESIGNS
from hw.verilog import components, to_verilog
from system.tools import BUILD_DIRECTORY

__all__ = ["LIMIT", "METRICS", "rows", "unit_name", "units"]

#: The board whose default configs are measured.
BOARD = "u200"
#: Levels above which docs/results/units.md names a unit, with the reason.
LIMIT = 8

#: metric -> what a row of it is
METRICS = {
    "carry_levels": "estimate: yosys, UltraScale+ cells, a carry chain is 1 + bits / 32 levels",
    "lut6_levels": "estimate: yosys, carry chains made of LUT6 too",
}


def unit_name(cls):
    """The name of a unit in rows: its class, by its module below ``hw``."""
    return f"{cls.__module__.removeprefix('hw.')}.{cls.__qualname__}"


def units(name):
    """``(verilog, {module: class})`` of the design ``name`` with its default config."""
    design = DESIGNS[name]
    config = configure(design, boards.get(BOARD), {})
    return to_verilog(design.kernel(config), name=name), components(
        design.kernel(config), name=name
    )


def rows(progress=lambda text: None):
    """The rows carry_levels and lut6_levels of every class of unit in a kernel: the longest path
    over its instances. Takes a quarter of an hour of processor time.

    ``progress`` is called with texts: the step under way, and the path of every unit deeper than
    ``LIMIT``.
    """
    verilog, classes = [], {}
    for name in DESIGNS:
        progress(f"writing Verilog of {name}")
        text, own = units(name)
        verilog.append(text)
        classes |= own
    measured = depths("".join(verilog), work=BUILD_DIRECTORY / "depth", progress=progress)
    deepest = {}
    for module, depth in measured.items():
        cls = _class_of(module, classes)
        for metric, path in zip(METRICS, depth, strict=True):
            key = unit_name(cls), metric
            deepest[key] = max(deepest.get(key, (-1,)), (path.levels, module, path.begin, path.end))
    for (unit, metric), (levels, *place) in sorted(deepest.items()):
        if metric == "carry_levels" and levels > LIMIT:
            progress("{}: {:.1f} levels in {}, from {} to {}".format(unit, levels, *place))
    return [
        row("units", unit, metric, round(levels, 1), "levels",
            reference="at most", reference_value=LIMIT, source=METRICS[metric])
        for (unit, metric), (levels, *_) in sorted(deepest.items())
    ]  # fmt: skip


def _class_of(module, classes):
    """The class of the unit that has the module ``module``; KeyError if no unit has it."""
    name = re.sub(r"\$\d+", "", module)
    while name not in classes and "." in name:
        name = name.rpartition(".")[0]
    return classes[name]
