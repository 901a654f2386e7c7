"""Runs yosys to map Verilog to a family, module by module or flattened; keeps what it has written.

A text that the same version of yosys has mapped by the same passes is not mapped again.
"""

import hashlib
from pathlib import Path

from boards.open_tools import ecp5_passes, yosys, yosys_version
from hw.names import check_no_links

__all__ = ["FAMILIES", "in_parts", "mapping", "packing", "parts_of"]

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


def packing(family, packed):
    """The key of ``FAMILIES`` for a design: ``family``; or, if it is ``packed`` and there is such a
    key, ``<family>_dsp``, where registers and adders are packed into DSP blocks."""
    other = f"{family}_dsp"
    return other if packed and other in FAMILIES else family


def mapping(verilog, top, passes, work, progress, names=()):
    """Runs ``passes`` on ``top`` and returns the folder with ``stat<k>.json`` and ``depth<k>.txt``
    of each of ``parts_of(names)``."""
    begin, parts = f"read_verilog {top}.v; hierarchy -top {top} -check; ", parts_of(names)
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
    """As ``mapping``, with a process of yosys for each part. What has ended before is not run
    again. Not for ECP5, of which RTLIL does not keep that its registers have parameters."""
    unmapped = _run(verilog, top, f"{script}; write_rtlil unmapped.il", work, progress)
    for number in range(len(parts_of(names))):
        boxed, known = _boxed(names, number), _KNOWN.format(number)
        part = f"read_rtlil ../unmapped.il; {_LIBRARY}; {boxed}; {_XCUP_LUTS}; {known}"
        folder = unmapped / f"part{number}"
        done = folder / "done"
        if not done.exists() or done.read_text(encoding="utf-8") != part:
            folder.mkdir(exist_ok=True)
            progress(f"yosys: part {number + 1} of {len(parts_of(names))}")
            yosys(top, part, folder, progress)
            done.write_text(part, encoding="utf-8")
        for file in (f"stat{number}.json", f"depth{number}.txt"):
            (unmapped / file).write_bytes((folder / file).read_bytes())
    return unmapped


#: Reads the part's cells again, as synth_xilinx does: RTLIL does not keep that they are parametric.
_LIBRARY = (
    "read_verilog -overwrite -lib -specify +/xilinx/cells_sim.v; "
    "read_verilog -overwrite -lib +/xilinx/cells_xtra.v"
)

#: Writes what is known of the mapped modules of part {0}.
_KNOWN = "tee -q -o stat{0}.json stat -json; tee -q -o depth{0}.txt ltp -noff " + _LOGIC


def _boxed(names, number):
    """Commands that make black boxes of all modules but those of part ``number``. Modules that
    yosys made of parameters, and named itself, are in part 0."""
    part = parts_of(names)[number]
    chosen = part if number else sorted(set(names) - set(part))
    aside = "* @named %d" if number else "@named"
    return f"select -set named {' '.join(chosen)}; blackbox {aside}"


def _run(verilog, top, script, work, progress):
    """Runs yosys with ``script`` on ``top``, unless this version has done so before; returns its
    folder."""
    key = hashlib.sha256(f"{yosys_version()}\n{script}\n{verilog}".encode()).hexdigest()[:16]
    folder = Path(work) / f"{top}-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    check_no_links(folder, "work")
    if not (folder / "done").exists():
        (folder / f"{top}.v").write_text(verilog, encoding="utf-8")
        yosys(top, script, folder, progress)
        (folder / "done").touch()
    return folder


def in_parts(family, text):
    """Whether modules of ``text`` are mapped in parts of some modules each."""
    return family in _IN_PARTS or len(text) > _LARGE


def parts_of(names):
    """Modules that are mapped at a time: large and small ones in each."""
    count = max(1, round(len(names) / _PART))
    return [sorted(names)[number::count] for number in range(count)]
