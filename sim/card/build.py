"""A kernel's Verilog and the card's harness as one shared library."""

from importlib.resources import files

import jinja2

from sim.card.noise import switched
from sim.verilate import shared_library

__all__ = ["build"]


def build(description, verilog, *, trace=False):
    """Builds the shared library of the kernel ``description`` from its Verilog text; returns its
    path.

    Parameters
    ----------
    description : hw.shell.description.KernelDescription
        ``name`` is the top module, ``masters`` its AXI4 masters.
    trace : bool
        Build the slower variant that writes waveforms.

    Raises MissingTool, or BuildError with the tool's output.
    """
    folder = files(__package__)
    names = ("harness.cpp", "memory.hpp", "interface.hpp", "faults.hpp")
    sources = {name: (folder / name).read_text(encoding="utf-8") for name in names}
    template = jinja2.Template(
        (folder / "binding.hpp.j2").read_text(encoding="utf-8"), undefined=jinja2.StrictUndefined
    )
    sources["binding.hpp"] = template.render(masters=description.masters)
    return shared_library(description.name, switched(verilog), sources, trace=trace)
