"""Finds pyxrt, or says why it cannot be imported: it is one file for one Python."""

import importlib
import os
import re
import sys
from pathlib import Path

from hw.errors import MissingTool

__all__ = ["ADVICE", "pyxrt"]

#: What to do about a launch that does not end.
ADVICE = (
    "the kernel does not answer: `xbutil examine -r all -d BDF` shows what the card does, `xbutil "
    "reset -d BDF` frees it (xrt-smi from XRT 2024.2 on); the same program on card sim names the "
    "channel that stands still"
)

_CURE = (
    "source /opt/xilinx/xrt/setup.sh, and run the Python that XRT built it for (the distribution's "
    "own), or build it for this one: sh scripts/build_pyxrt.sh RELEASE"
)


def _built_for():
    """Describes the pyxrt of an installed XRT; None if XRT is not installed."""
    places = [Path(os.environ.get("XILINX_XRT", "/opt/xilinx/xrt")) / "python"]
    places += [Path(place) for place in os.environ.get("PYTHONPATH", "").split(":") if place]
    for place in places:
        for file in sorted(place.glob("pyxrt*.so")):
            found = re.search(r"cpython-(\d)(\d+)", file.name)
            return f"{file} is for Python {found[1]}.{found[2]}" if found else f"{file} is there"
    return None


def pyxrt():
    """The module pyxrt. MissingTool if it cannot be imported, with the Python for which it was
    found, or if it is older than XRT 2.12."""
    try:
        module = importlib.import_module("pyxrt")
    except ImportError as error:
        ours = f"this is Python {sys.version_info[0]}.{sys.version_info[1]}"
        found = f"{_built_for() or 'no XRT was found'}, {ours}"
        raise MissingTool(
            f"pyxrt must be importable for card xrt, not missing: {error}; {found}; {_CURE}"
        ) from error
    if not hasattr(module.xclbin, "get_mems"):
        raise MissingTool(
            "XRT must be 2.12 (2021.2) or newer, not older: its pyxrt has no xclbin.get_mems"
        )
    return module
