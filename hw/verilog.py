"""A component as Verilog text: no source paths, equal bytes for equal configs."""

import functools
import re
from importlib.resources import files

from amaranth.back import verilog

from hw.shared import SHARED

__all__ = ["to_verilog"]

#: Modules that an ``Instance`` names, and the files of ``hw.stream`` that hold them.
_MODULES = {"rlfabric_ram": "ram.v", "rlfabric_ram_dual": "ram_dual.v"}


def to_verilog(component, *, name):
    """Verilog of ``component`` as module ``name``, with the shared and RAM modules it names."""
    texts, have = [_convert(component, name)], set()
    for text in texts:  # grows as shared modules name others
        for found in sorted(set(re.findall(r"\brlfabric_\w+", text)) & set(SHARED) - have):
            have.add(found)
            texts.append(_shared(found))
    whole = "\n".join(texts)
    for module, file in _MODULES.items():
        if re.search(rf"\b{module}\b", whole):
            whole += "\n" + (files("hw.stream") / file).read_text()
    return whole


def _convert(component, name):
    return verilog.convert(component, name=name, emit_src=False, strip_internal_attrs=True)


@functools.cache
def _shared(name):
    return _convert(SHARED[name], name)
