"""Runs a generated Tcl script under a real tclsh in which the vendor's commands are recorded."""

import os
import subprocess
from pathlib import Path

import boards
from boards import bitstream
from host.generate import configure, identity
from host.generate.folder import MANIFEST, manifest
from hw.designs import DESIGNS

__all__ = ["VendorError", "described", "properties", "run", "small", "written"]

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
    """Settings of ``design`` as for ``host.generate``; its own where none are known."""
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
