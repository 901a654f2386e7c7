"""A component as Verilog text: no source paths, equal bytes for equal configs, any simulator."""

import functools
import gc
import re
from contextlib import contextmanager
from importlib.resources import files

from amaranth.back import verilog

from hw.shared import SHARED

__all__ = ["no_collection", "to_verilog"]

#: Modules that an ``Instance`` names, and the files of ``hw.stream`` that hold them.
_MODULES = {"rlfabric_ram": "ram.v", "rlfabric_ram_dual": "ram_dual.v"}

#: What yosys has each ``always @*`` of a module read, so that it runs at time 0, and its beginning.
_TRIGGER = r"\\\$auto\$verilog_backend\S+ "
_BEGUN = re.compile(rf"^  reg ({_TRIGGER}) = 0;\n", re.M)
#: Part of a signal whose other parts are a process's: yosys has it read nothing but its value.
_PART = re.compile(r"^  always @\*\n    (.*;)\n", re.M)
_MODULE = re.compile(r"^(module [^;]*;\n)(.*?^endmodule\n)", re.M | re.S)
_START = r"\$start "


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
    for module, file in _MODULES.items():
        if re.search(rf"\b{module}\b", whole):
            whole += "\n" + (files(f"{__package__}.stream") / file).read_text()
    return whole


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


def _convert(component, name):
    text = verilog.convert(component, name=name, emit_src=False, strip_internal_attrs=True)
    return _MODULE.sub(_started, text)


def _started(module):
    """The module's text, changed so that every ``always @*`` runs at time 0, in whichever order a
    simulator starts.

    yosys gives each ``always @*`` a dummy register so that the block runs once at time 0. In
    SystemVerilog that register has its value before the block waits, so the block never runs, and
    outputs that depend on constants alone stay X. We replace these registers by one that a
    non-blocking assignment sets, which happens after all blocks wait.
    """
    head, body = module.groups()
    body = re.sub(_TRIGGER, lambda found: _START, _BEGUN.sub("", body))
    body = _PART.sub(
        lambda part: f"  always @* begin\n    if ({_START}) begin end\n    {part[1]}\n  end\n", body
    )
    if _START in body:
        head += f"  reg {_START};\n  initial {_START}<= 0;\n"
    return head + body


@functools.cache
def _shared(name):
    return _convert(SHARED[name], name)
