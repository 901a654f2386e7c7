"""The memory of the simulated card as a library of its own, for ``card.memory_shim.Bench``."""

import ctypes
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest
from card.memory_shim import Signals

from system.tools import require


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    require("g++")
    built = tmp_path_factory.mktemp("shim") / "shim.so"
    source = Path(__file__).with_name("memory_shim.cpp")
    command = ["g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*command, f"-I{files('sim.card')}", "-o", built, source], check=True)
    library = ctypes.CDLL(str(built))
    library.shim_open.restype = ctypes.c_void_p
    library.shim_signals.restype = ctypes.POINTER(Signals)
    library.shim_violation.restype = ctypes.c_char_p
    return library
