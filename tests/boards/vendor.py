"""Runs a generated Tcl script under a real tclsh in which the vendor's commands are recorded."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import boards
import rlfabric
from boards import bitstream
from host.kernels import configure, identity
from host.kernels.kernel_folder import MANIFEST, manifest
from hw.designs import DESIGNS
from rlfabric import training

__all__ = ["VendorError", "described", "not_public", "properties", "run", "small", "written"]

STAND_IN = Path(__file__).parent / "vendor.tcl"
#: Sizes of each design that take the least time to generate.
_NET = {
    "capacity": 128, "fanout": 4, "ultra_ram": False, "hidden": (8,), "lanes": 1,
    "multipliers": 4, "update_units": 1, "kind": "fixed",
}  # fmt: skip
_ROUNDS = {
    "height": 8, "width": 8, "convolutions": ((16, 4, 2),), "hidden": (), "outputs": 5,
    "lanes": 1, "units": ("any",), "batch": 1, "rms_units": 1, "drain_words": 1,
    "parameter_rows": 256,
}  # fmt: skip
_ARRAYS = {
    "capacity": 128, "fanout": 4, "ultra_ram": False, "observation": 3, "action": 1, "hidden": (4,),
    "cores": 1, "side": 4, "batch": 8,
}  # fmt: skip
_SMALL = {
    "replay": {"capacity": 37, "fanout": 4, "ultra_ram": False},
    "gae": {"rows": 4, "gae.depth": 16},
    "dqn": _NET,
    "ddpg": _NET,
    "fixar": _ARRAYS,
    "a3c": _ROUNDS,
}


class VendorError(Exception):
    """The script ended with an error; the message is Tcl's."""


def small(design):
    """Settings of ``design`` as for ``host.kernels``; its own where none are known."""
    return _SMALL.get(design, {})


def described(design, board, **settings):
    """Description of the default of ``design`` for ``board``, or of one with ``settings``."""
    design = DESIGNS[design]
    return design.describe(configure(design, boards.get(board), settings))


def written(folder, description, board, change=lambda file, text: text):
    """Write the board's files, an empty Verilog file and their manifest; ``change`` may plant an
    error in each."""
    folder.mkdir(parents=True, exist_ok=True)
    board = boards.get(board)
    texts = {description.verilog: "", **bitstream.files(description, board)}
    for file, text in texts.items():
        (folder / file).write_text(change(file, text) if text else text)
    whose = identity(description.name, board, description)
    data = {file: text.encode() for file, text in texts.items()}
    (folder / MANIFEST).write_bytes(manifest(whose, data))


def run(folder, script, description, *arguments, **environment):
    """The record of ``script`` in ``folder``, a list of ``[command, word, ...]``.

    It is started from elsewhere, as `vivado -source` may be. Raises VendorError.
    """
    record = folder / "record"
    interfaces = ["s_axi_control", *(master.name for master in description.masters)]
    result = subprocess.run(
        ["tclsh", STAND_IN, record, " ".join(interfaces), folder / script, *arguments],
        cwd=folder.parent,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    if result.returncode:
        raise VendorError(result.stderr.splitlines()[0])
    commands = [line.split("\x1f") for line in record.read_text().splitlines()]
    assert commands[-1] == ["end"]
    return commands[:-1]


def properties(record, kind):
    """``{name: {property: value}}`` of the objects of ``kind``, by the name before ``@``."""
    found = {}
    for command, *words in record:
        if command == "set_property" and words[-1].startswith(f"{kind}:"):
            found.setdefault(words[-1], {})[words[0]] = words[1]
    return found


#: What a generated program may use of this project.
_MODULES = {"rlfabric": rlfabric.__all__ + ["training"], "rlfabric.training": training.__all__}


def not_public(name, text):
    """Yields what the generated file ``name`` imports, uses or tells to run that a user of the
    wheel does not have: its only module of this project is ``rlfabric``."""
    for module in re.findall(r"\bpython3? -m ([\w.]+)", text):
        if module.partition(".")[0] in ("boards", "host", "hw", "sim", "system", "bench", "tests"):
            yield f"{name}: python -m {module}"
    if not name.endswith(".py"):
        return
    known = {}  # the program's name -> the module's
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            for each in node.names:
                known[each.asname or each.name] = each.name
                if each.name not in _MODULES and not _elsewhere(each.name):
                    yield f"{name}: import {each.name}"
        elif isinstance(node, ast.ImportFrom):
            for each in node.names:
                whole = f"{node.module}.{each.name}"
                known[each.asname or each.name] = whole
                if not _elsewhere(node.module) and each.name not in _MODULES.get(node.module, ()):
                    yield f"{name}: from {node.module} import {each.name}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = known.get(node.value.id)
            if module in _MODULES and node.attr not in _MODULES[module]:
                yield f"{name}: {module}.{node.attr}"


def _elsewhere(module):
    """Whether ``module`` is of Python or NumPy."""
    first = module.partition(".")[0]
    return first == "numpy" or first in sys.stdlib_module_names
