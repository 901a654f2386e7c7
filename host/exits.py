"""Exit codes of the command line: what a user can cause has its own, and one line of words."""

import os
import sys

from boards import DoesNotFit
from boards.bitstream import ToolsMissing, WrongVersion
from sim.tools import MissingTool

__all__ = ["MISSING_TOOL", "report"]

FAILED, USAGE, MISSING_TOOL, DOES_NOT_FIT, INPUTS_ONLY = 1, 2, 3, 4, 5
WRONG_VERSION, UNWRITABLE, INTERRUPTED = 6, 7, 130


def _codes():
    """``(exception, code)``; the first that matches counts."""
    from host.card import CapacityError
    from host.generate import Unwritable

    return (
        (KeyboardInterrupt, INTERRUPTED),
        (MissingTool, MISSING_TOOL),
        ((DoesNotFit, CapacityError), DOES_NOT_FIT),
        (ToolsMissing, INPUTS_ONLY),
        (WrongVersion, WRONG_VERSION),
        (Unwritable, UNWRITABLE),
        (ValueError, USAGE),
        ((OSError, RuntimeError), FAILED),
    )


def report(error):
    """Print ``error`` as a line and return its code; raise it if it is a bug, or on request."""
    code = next((code for kind, code in _codes() if isinstance(error, kind)), None)
    if code is None or "RLFABRIC_TRACEBACK" in os.environ:
        raise error
    message = "interrupted" if code == INTERRUPTED else str(error)
    notes = getattr(error, "__notes__", ())
    print("; ".join([f"rlfabric: {message}", *notes]), file=sys.stderr)
    return code
