"""A unit by itself, as yosys maps it."""

from boards.area import synthesize
from hw.verilog import to_verilog
from system.tools import BUILD_DIRECTORY

__all__ = ["mapped_unit"]


def mapped_unit(unit, name, **options):
    """``synthesize`` of ``unit`` under ``name``, with its ``options``. A unit that was mapped
    before is not mapped again."""
    return synthesize(to_verilog(unit, name=name), name, work=BUILD_DIRECTORY / "area", **options)
