"""A component as Verilog text: no source paths, equal bytes for equal configs."""

from importlib.resources import files

from amaranth.back import verilog

__all__ = ["to_verilog"]


def to_verilog(component, *, name):
    """Verilog of ``component`` as module ``name``, with the RAM module that its memories name."""
    text = verilog.convert(component, name=name, emit_src=False, strip_internal_attrs=True)
    if "rlfabric_ram" in text:
        text += "\n" + (files("hw.stream") / "ram.v").read_text()
    return text
