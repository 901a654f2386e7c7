"""Exit codes of the command line: what a user can cause has its own, and one line of words.

A bug has a traceback instead. What a ``raise`` of ours says is meant for users; what NumPy says
of a line of ours, or whatever an environment raises, is not.
"""

import dis
import os
import sys
import traceback

from boards import DoesNotFit
from boards.bitstream import ToolsMissing, WrongVersion
from sim.tools import MissingTool

__all__ = ["MISSING_TOOL", "TRACEBACK", "report"]

FAILED, USAGE, MISSING_TOOL, DOES_NOT_FIT, INPUTS_ONLY = 1, 2, 3, 4, 5
WRONG_VERSION, UNWRITABLE, INTERRUPTED = 6, 7, 130

#: environment variable: a traceback of every error; `rlfabric -v` sets it
TRACEBACK = "RLFABRIC_TRACEBACK"

_OURS = {"bench", "boards", "host", "hw", "sim"}
#: what is called from here are drivers, whose errors are the machine's
_DRIVERS = "host.card"
#: what is called from here is the user's environment
_ENVIRONMENTS = "gymnasium.vector."


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
        ((OSError, RuntimeError, FloatingPointError), FAILED),
    )


def _meant(error):
    """Whether ``error`` is of use or of the machine, and not a bug."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    names = [frame.f_globals.get("__name__", "") for frame in frames]
    if isinstance(error, KeyboardInterrupt) or not frames:
        return True
    if any(name.startswith(_ENVIRONMENTS) for name in names):
        return False
    if isinstance(error, OSError):
        return True
    if isinstance(error, RuntimeError) and any(name.startswith(_DRIVERS) for name in names):
        return True
    if _package(type(error).__module__) in _OURS:
        return True
    return _package(names[-1]) in _OURS and _raised(error)


def _package(name):
    return name.partition(".")[0]


def _raised(error):
    """Whether a ``raise`` statement made ``error``, and not a library's code in C."""
    last = error.__traceback__
    while last.tb_next:
        last = last.tb_next
    where = last.tb_lasti
    code = dis.get_instructions(last.tb_frame.f_code)
    return any(each.offset == where and each.opname == "RAISE_VARARGS" for each in code)


def report(error):
    """Print ``error`` and return its code: as a line, or with its traceback if it is a bug, whose
    code is 1, or on request."""
    cause = error.__cause__
    if isinstance(cause, KeyboardInterrupt):  # Python 3.11 wraps one that comes in __set_name__
        error = cause
    code = next((code for kind, code in _codes() if isinstance(error, kind)), None)
    bug = code is None or not _meant(error)
    if bug or os.environ.get(TRACEBACK):
        traceback.print_exception(error)
        if sys.version_info < (3, 11):  # whose tracebacks know no notes
            print(*getattr(error, "__notes__", ()), sep="\n", file=sys.stderr)
        return FAILED if bug else code
    message = "interrupted" if code == INTERRUPTED else str(error)
    notes = getattr(error, "__notes__", ())
    print("; ".join([f"rlfabric: {message}", *notes]), file=sys.stderr)
    return code
