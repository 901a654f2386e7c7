"""A component as Verilog text: no source paths, equal bytes for equal configs, any simulator."""

import functools
import gc
import re
from contextlib import contextmanager
from importlib.resources import files

from amaranth import *
from amaranth._toolchain.yosys import find_yosys
from amaranth.back import rtlil
from amaranth.hdl import Fragment
from amaranth.lib import wiring
from amaranth.lib.cdc import AsyncFFSynchronizer, FFSynchronizer

from hw.shared import SHARED, SharedModule

__all__ = ["MACROS", "components", "no_collection", "to_verilog"]

#: Modules that an ``Instance`` names, and the files of ``hw.stream`` that hold them.
_MODULES = {"rlfabric_ram": "ram.v"}

#: As in ``amaranth.back.verilog``, but without the attributes ``full_case`` and ``init``, which are
#: yosys' own. All names of a register have ``init``; where the register is, yosys writes it as its
#: initial value.
_SCRIPT = """\
proc -nomux -norom
memory_collect
select -set registers t:$*dff* %x1:+[Q] w:* %i
attrmap -remove init w:* @registers %d
attrmap -remove full_case -remove amaranth.hierarchy -remove amaranth.decoding
attrmap -modattr -remove top -remove generator -remove amaranth.hierarchy
write_verilog -norename
"""

#: Begins a text with blocks ``always @*``. One waits for a change, so a simulator of events must
#: also run it at time 0: by an assignment that follows once every block waits.
MACROS = r"""`ifdef SYNTHESIS
`define RLFABRIC_START
`define RLFABRIC_RUN
`else
`ifdef VERILATOR
`define RLFABRIC_START reg \$start = 0;
`else
`define RLFABRIC_START reg \$start ; initial \$start <= 0;
`endif
`define RLFABRIC_RUN if (\$start ) begin end
`endif
"""
#: The register by which yosys tries to have the blocks of a module run at time 0, and its readers.
_TRIGGER = re.compile(r"^  reg \\\$auto\$verilog_backend\S+  = 0;\n", re.M)
_READER = re.compile(r"^    if \(\\\$auto\$verilog_backend\S+ \) begin end\n", re.M)
#: Part of a signal whose other parts are a process's: yosys has it read nothing but its value.
_PART = re.compile(r"^  always @\*\n    (.*;)\n", re.M)
_RUN = "    `RLFABRIC_RUN\n"
_MODULE = re.compile(r"^(module [^;]*;\n)(.*?^endmodule\n)", re.M | re.S)


def to_verilog(component, *, name):
    """The Verilog text of ``component`` as the module ``name``, followed by the shared modules and
    RAM modules that it instantiates."""
    with no_collection():
        texts, have = [_convert(component, name)], set()
        for text in texts:  # grows as shared modules name others
            for found in sorted(set(re.findall(r"\brlfabric_\w+", text)) & set(SHARED) - have):
                have.add(found)
                texts.append(_shared(found))
    whole = "\n".join(texts)
    if _RUN in whole:
        whole = MACROS + whole
    for module, file in _MODULES.items():
        if re.search(rf"\b{module}\b", whole):
            whole += "\n" + (files(f"{__package__}.stream") / file).read_text(encoding="utf-8")
    return whole


def components(component, *, name):
    """``{module: class}`` of ``component`` and all components inside. Module names are as in
    ``to_verilog``, without the numbers that Amaranth appends to some."""
    found = {}

    def walk(fragment, path):
        for origin in fragment.origins or ():
            if isinstance(origin, SharedModule):
                if origin.name not in found:
                    walk(Fragment.get(SHARED[origin.name], None), (origin.name,))
                return
            module = type(origin).__module__
            if isinstance(origin, wiring.Component) and module.startswith(f"{__package__}."):
                found[".".join(path)] = type(origin)
        for number, (part, own, _) in enumerate(fragment.subfragments):
            walk(part, (*path, own or f"U${number}"))

    walk(Fragment.get(component, None), (name,))
    return found


@contextmanager
def no_collection():
    """A context manager: Python's garbage collector is off inside, and afterwards as before.

    A netlist is millions of objects, none of which becomes garbage while it is converted. Searching
    them took two fifths of the time.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class _Platform:
    """How synchronizers are made: their registers have ``ASYNC_REG``, so that a vendor's tools
    place them close together, and never as a shift register."""

    def get_ff_sync(self, synchronizer):
        return _marked(FFSynchronizer.elaborate(synchronizer, None))

    def get_async_ff_sync(self, synchronizer):
        return _marked(AsyncFFSynchronizer.elaborate(synchronizer, None))


def _marked(module):
    for signal, domains in module._driving.items():
        if domains[0] != "comb":
            signal.attrs["ASYNC_REG"] = "TRUE"
    return module


def _convert(component, name):
    design = rtlil.convert(component, name, _Platform(), emit_src=False)
    script = f"read_rtlil <<rtlil\n{design}\nrtlil\n{_SCRIPT}"
    text = find_yosys(lambda version: version >= (0, 40)).run(
        ["-q", "-"], script, ignore_warnings=True
    )
    return _MODULE.sub(_run_at_first, text)


def _run_at_first(module):
    """The module's text, changed so that every ``always @*`` runs at time 0, in whichever order a
    simulator starts.

    yosys gives each ``always @*`` a dummy register so that the block runs once at time 0. In
    SystemVerilog that register has its value before the block waits, so the block never runs, and
    outputs that depend on constants alone stay X. The macros stand for one register a module that
    a non-blocking assignment sets, which happens after all blocks wait; synthesis sees none.
    """
    head, body = module.groups()
    body = _PART.sub(lambda part: f"  always @* begin\n{_RUN}    {part[1]}\n  end\n", body)
    body = _TRIGGER.sub("", _READER.sub(lambda reader: _RUN, body))
    if _RUN in body:
        head += "  `RLFABRIC_START\n"
    return head + body


@functools.cache
def _shared(name):
    return _convert(SHARED[name], name)
