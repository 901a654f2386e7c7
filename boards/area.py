"""Resources of Verilog as yosys maps it to a family: an estimate, not the vendor's figure."""

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass

from boards.alike import Alike
from boards.mapping import FAMILIES, in_parts, mapping, packing, parts_of
from boards.open_tools import SynthesisError
from hw.errors import UsageError

__all__ = [
    "FAMILIES",
    "Module",
    "SynthesisError",
    "count",
    "grouped",
    "modules",
    "netlist",
    "packing",
    "synthesize",
    "total",
]

#: Lookup tables that a cell of memory, carry or shift register takes. UltraScale+: UG974. ECP5: of
#: four inputs each, as nextpnr packs them. A CCU2C is a slice, which has two tables. The bits of a
#: TRELLIS_DPR16X4 are the tables of a slice pair (A and B of a tile), and the write port of both is
#: the third slice (C), whose two tables have no other use then: six.
_LUTS = {
    "SRL16E": 1,
    "SRLC32E": 1,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
    "RAM256X1D": 8,
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32M16": 8,
    "RAM64M8": 8,
    "INV": 1,
    "CCU2C": 2,
    "TRELLIS_DPR16X4": 6,
}


@dataclass(frozen=True)
class Module:
    """One module as yosys has mapped it.

    ``cells`` counts its own cells by type, ``inside`` the modules that it instantiates by name,
    each without what is further below. ``depth`` is the number of lookup tables and multiplexers on
    the longest path between its registers and ports.
    """

    cells: Counter
    inside: Counter
    depth: int


def count(cells):
    """``{lut, ff, bram36, uram, dsp}`` of a mapped netlist, from ``cells``, ``{type: count}``.

    A block RAM of 18 kbit counts as half a bram36.
    """

    def total(pattern):
        return sum(count for cell, count in cells.items() if re.fullmatch(pattern, cell))

    return {
        "lut": total(r"LUT\d") + sum(count * cells.get(cell, 0) for cell, count in _LUTS.items()),
        "ff": total(r"FD\w\w") + total("TRELLIS_FF"),
        "bram36": total("RAMB36E2") + (total("RAMB18E2") + total("DP16KD")) / 2,
        "uram": total("URAM288"),
        "dsp": total("DSP48E2") + total("MULT18X18D"),
    }


def modules(verilog, top, *, work, family="xcup", flatten=False, progress=lambda text: None):
    """``{name: Module}`` of ``top`` and all below it.

    Parameters
    ----------
    verilog : str
        The whole design, with a module ``top``.
    work : path
        Folder for the output of yosys; a text that was mapped before is not mapped again.
    family : str
        A key of ``FAMILIES``; ValueError for another.
    flatten : bool
        Whether modules are flattened first. If not, nothing is optimised across modules, which
        gives more cells; but a module is mapped once, even if the design has it several times under
        different names.
    progress : callable
        Called with texts that say what yosys is doing.

    It takes minutes for a large design. Raises SynthesisError.
    """
    if family not in FAMILIES:
        raise UsageError(f"family must be one of {', '.join(FAMILIES)}, not {family!r}")
    passes = FAMILIES[family][0 if flatten else 1]
    alike = Alike("" if flatten else verilog)
    text = verilog if flatten else alike.verilog
    split = not flatten and in_parts(family, text)
    names = re.findall(r"^module \\?(\S+?)[ (]", text, re.M) if split else []
    folder = mapping(text, top, passes, work, progress, names)
    found, depths = {}, {}
    for number, part in enumerate(parts_of(names)):
        aside = set(names) - set(part)
        known = json.loads((folder / f"stat{number}.json").read_text(encoding="utf-8"))["modules"]
        paths = (folder / f"depth{number}.txt").read_text(encoding="utf-8")
        lengths = re.findall(r"path in (\S+) \(length=(\d+)\)", paths)
        found |= {name: known[name] for name in known if name.removeprefix("\\") not in aside}
        depths |= {name: length for name, length in lengths if name not in aside}
    # A module with parameters has a name of yosys' own, without the backslash.
    names = {name: name.removeprefix("\\") for name in found}
    result = {}
    for name, module in found.items():
        cells, inside = Counter(), Counter()
        for cell, number in module["num_cells_by_type"].items():
            (inside if cell in names.values() else cells)[cell] = number
        result[names[name]] = Module(cells, inside, int(depths.get(name.lstrip("\\"), 0)))
    return alike.restored(result)


def netlist(verilog, top, *, work, family="xcup", progress=lambda text: None):
    """The list of cells of ``top``, flattened with all modules below it.

    Each cell is a dict of yosys' JSON with ``type``, ``parameters``, ``connections`` and more. A
    bit of a connection is the number of its net, or the text of a constant. Arguments are as in
    ``modules``; KeyError for a family that is none of ``FAMILIES``. Raises SynthesisError.
    """
    passes = f"{FAMILIES[family][0]}; write_json netlist.json"
    folder = mapping(verilog, top, passes, work, progress)
    found = json.loads((folder / "netlist.json").read_text(encoding="utf-8"))["modules"]
    return list(found[top]["cells"].values())


def total(found, name):
    """``{cell type: count}`` of the module ``name`` and all below it; ``found`` is of ``modules``.

    The sums that yosys prints leave out types of cells that are not in its topmost module.
    """
    cells = Counter(found[name].cells)
    for child, number in found[name].inside.items():
        cells.update({cell: number * count for cell, count in total(found, child).items()})
    return cells


def grouped(found, top, group_of):
    """``{group: {lut, ff, bram36, uram, dsp}}`` of ``top`` and all below, whose sum is the whole.

    ``found`` is the dict that ``modules`` gives. ``group_of(name)`` is the group of the module
    ``name`` and of the modules inside it; None puts it into the group of the module around it.
    """
    result = defaultdict(Counter)

    def add(name, number, group):
        group = group_of(name) or group
        cells = result[group]
        cells.update({cell: number * count for cell, count in found[name].cells.items()})
        for child, inside in found[name].inside.items():
            add(child, number * inside, group)

    add(top, 1, None)
    return {group: count(cells) for group, cells in result.items()}


def synthesize(verilog, top, *, work, family="xcup", flatten=True):
    """``{lut, ff, bram36, uram, dsp, cells}`` of ``top`` and all below it, after yosys.

    ``cells`` is ``{cell type: count}``. Arguments and errors are as in ``modules``, but here
    modules are flattened unless ``flatten`` is False.
    """
    cells = total(modules(verilog, top, work=work, family=family, flatten=flatten), top)
    return {**count(cells), "cells": cells}
