"""The files of a composition."""

import sys
from pathlib import Path

from host.compose.plan_file import PLAN, PROGRAM
from host.kernels.kernel_folder import write_files
from hw.errors import MissingTool, UsageError

__all__ = ["GRID", "check_free", "write"]

GRID = "grid.png"
#: A file that may have been written for another plan, or changed -> what it is.
_KEPT = {PLAN: "plan", PROGRAM: "program"}


def check_free(out, files, replaced=()):
    """UsageError if a plan or a program is in the folder ``out`` that is none of ``files``, bytes
    by name, nor named in ``replaced``."""
    for name, what in _KEPT.items():
        path, judged = Path(out) / name, name in files and name not in replaced
        if judged and path.is_file() and path.read_bytes() != files[name]:
            raise UsageError(f"out must have no other {what}, not {path} (--overwrite replaces it)")


def write(out, files, draw):
    """Writes ``files``, bytes by name, and the picture that ``draw`` gives, to the folder
    ``out``."""
    try:
        files = {**files, GRID: draw()}
    except MissingTool as missing:
        print(f"rlfabric: {GRID} is not drawn: {missing}", file=sys.stderr)
    write_files(out, files)
