"""Resources of Verilog as yosys maps it to a family: an estimate, not the vendor's figure."""

import hashlib
import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from boards.alike import Alike
from boards.open_tools import SynthesisError, ecp5_passes, yosys
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

#: The last passes, module by module, after synth_xilinx up to its mapper. The mapper is ABC9 for
#: the units of binary32 arithmetic, of which there are hundreds, and the older ABC for all other
#: modules: the WebAssembly build of ABC9 crashes at modules of a learner's size and at a shared
#: memory. ABC runs first: it runs in the same process, and finds less after ABC9.
_XCUP_LUTS = (
    "select rlfabric_float32_* %n; abc -luts 2:2,3,6:5,10,20; "
    "select rlfabric_float32_*; opt_expr -mux_undef -noclkinv; abc9 -luts 2:2,3,6:5,10,20; "
    "select -clear; clean; techmap -map +/xilinx/ff_map.v; "
    "xilinx_srl -fixed -minlen 3; "
    "techmap -map +/xilinx/lut_map.v -map +/xilinx/cells_map.v -D LUT_WIDTH=6; clean -purge"
)

#: UltraScale+, module by module.
_XCUP_MODULES = f"synth_xilinx -family xcup -noiopad -noclkbuf -run begin:map_luts; {_XCUP_LUTS}"

#: UltraScale+ with registers and adders packed into its DSP blocks, as the vendor's tools do. yosys
#: can pack the DSP48E1 alone, so a DSP48E2, which is a wider one, has its name for some passes.
_XCUP_PACKED = (
    "synth_xilinx -family xcup -nodsp -noiopad -noclkbuf -flatten -run begin:coarse; "
    "opt_expr; opt_clean; opt -nodffe -nosdff; wreduce; peepopt; opt_clean; memory_dff; "
    "techmap -map +/mul2dsp.v -map +/xilinx/xcu_dsp_map.v -D DSP_A_MAXWIDTH=27 "
    "-D DSP_B_MAXWIDTH=18 -D DSP_A_MINWIDTH=2 -D DSP_B_MINWIDTH=2 -D DSP_Y_MINWIDTH=9 "
    "-D DSP_SIGNEDONLY=1 -D DSP_NAME=$__MUL27X18; select a:mul2dsp; setattr -unset mul2dsp; "
    "opt_expr -fine; wreduce; select -clear; "
    'chtype -set DSP48E1 t:DSP48E2; setparam -set USE_DPORT "FALSE" t:DSP48E1; '
    "xilinx_dsp -family xc7; setparam -unset USE_DPORT t:DSP48E1; "
    "chtype -set DSP48E2 t:DSP48E1; chtype -set $mul t:$__soft_mul; "
    "synth_xilinx -family xcup -nodsp -noiopad -noclkbuf -flatten -run coarse:"
)
_XCUP_PACKED_MODULES = f"{_XCUP_PACKED.replace('-flatten ', '')}map_luts; {_XCUP_LUTS}"

#: family -> passes that flatten all modules first, passes that keep each module
FAMILIES = {
    "xcup": ("synth_xilinx -family xcup -noiopad -noclkbuf -flatten", _XCUP_MODULES),
    "xcup_dsp": (_XCUP_PACKED, _XCUP_PACKED_MODULES),
    "ecp5": ("; ".join(ecp5_passes()), "; ".join(ecp5_passes("-noflatten"))),
}

#: Families whose last passes go over all modules for each module that they map (ABC9, if modules
#: are kept): about ``_PART`` modules are mapped at a time, while the others are black boxes.
_IN_PARTS, _PART = ("ecp5",), 40

#: Bytes of Verilog from which the UltraScale+ passes of each part have a process of their own: in
#: one process the WebAssembly build of yosys would run out of its 4 GiB.
_LARGE = 4 << 20

#: Cells that count in a path between registers, memories and multipliers. Carry chains are left
#: out: a cell of several bits would look like a loop if one bit depends on another.
_LOGIC = "w:* t:LUT? t:MUXF? t:INV t:PFUMX t:L6MUX21"

#: Lookup tables that a cell of memory, carry or shift register takes. UltraScale+: UG974. ECP5:
#: amaranth-boards' and nextpnr's, four inputs each.
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


def packing(family, packed):
    """The key of ``FAMILIES`` for a design: ``family``; or, if it is ``packed`` and there is such a
    key, ``<family>_dsp``, where registers and adders are packed into DSP blocks."""
    other = f"{family}_dsp"
    return other if packed and other in FAMILIES else family


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


def _yosys(verilog, top, passes, work, progress, names=()):
    """Runs ``passes`` on ``top`` and returns the folder with ``stat<k>.json`` and ``depth<k>.txt``
    of each of ``_parts(names)``."""
    begin, parts = f"read_verilog {top}.v; hierarchy -top {top} -check; ", _parts(names)
    if len(parts) == 1:
        return _run(verilog, top, f"{begin}{passes}; {_KNOWN.format(0)}", work, progress)
    # If no module is the topmost, none is removed as unused; those inside a box would be.
    loose = f"setattr -mod -unset top {top}"
    if passes.endswith(_XCUP_LUTS):
        before = begin + passes.removesuffix(_XCUP_LUTS)
        return _in_processes(verilog, top, f"{before}{loose}", names, work, progress)
    passes, _, mapper = passes.rpartition("; ")
    script = f"{begin}{passes}; {loose}; design -save unmapped"
    for number in range(len(parts)):
        boxed, known = _boxed(names, number), _KNOWN.format(number)
        script += f"; design -load unmapped; {boxed}; {mapper}; {known}"
    return _run(verilog, top, script, work, progress)


def _in_processes(verilog, top, script, names, work, progress):
    """As ``_yosys``, with a process of yosys for each part. What has ended before is not run
    again."""
    unmapped = _run(verilog, top, f"{script}; write_rtlil unmapped.il", work, progress)
    for number in range(len(_parts(names))):
        folder = unmapped / f"part{number}"
        folder.mkdir(exist_ok=True)
        if not (folder / "done").exists():
            boxed, known = _boxed(names, number), _KNOWN.format(number)
            progress(f"yosys: part {number + 1} of {len(_parts(names))}")
            part = f"read_rtlil ../unmapped.il; {boxed}; {_XCUP_LUTS}; {known}"
            yosys(top, part, folder, progress)
            (folder / "done").touch()
        for file in (f"stat{number}.json", f"depth{number}.txt"):
            (unmapped / file).write_bytes((folder / file).read_bytes())
    return unmapped


#: Writes what is known of the mapped modules of part {0}.
_KNOWN = "tee -q -o stat{0}.json stat -json; tee -q -o depth{0}.txt ltp -noff " + _LOGIC


def _boxed(names, number):
    """Commands that make black boxes of all modules but those of part ``number``. Modules that
    yosys made of parameters, and named itself, are in part 0."""
    part = _parts(names)[number]
    chosen = part if number else sorted(set(names) - set(part))
    aside = "* @named %d" if number else "@named"
    return f"select -set named {' '.join(chosen)}; blackbox {aside}"


def _run(verilog, top, script, work, progress):
    """Runs yosys with ``script`` on ``top``, unless it has done so before; returns its folder."""
    key = hashlib.sha256(f"{script}{verilog}".encode()).hexdigest()[:16]
    folder = Path(work) / f"{top}-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "done").exists():
        (folder / f"{top}.v").write_text(verilog)
        yosys(top, script, folder, progress)
        (folder / "done").touch()
    return folder


def _parts(names):
    """Modules that are mapped at a time: large and small ones in each."""
    count = max(1, round(len(names) / _PART))
    return [sorted(names)[number::count] for number in range(count)]


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
    split = not flatten and (family in _IN_PARTS or len(text) > _LARGE)
    names = re.findall(r"^module \\?(\S+?)[ (]", text, re.M) if split else []
    folder = _yosys(text, top, passes, work, progress, names)
    found, depths = {}, {}
    for number, part in enumerate(_parts(names)):
        aside = set(names) - set(part)
        known = json.loads((folder / f"stat{number}.json").read_text())["modules"]
        paths = (folder / f"depth{number}.txt").read_text()
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
    folder = _yosys(verilog, top, passes, work, progress)
    found = json.loads((folder / "netlist.json").read_text())["modules"]
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
