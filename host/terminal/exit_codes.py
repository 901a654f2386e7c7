"""Exit codes of the command line, and how an error is reported.

An error that rlfabric raises on purpose (``hw.errors``), or a failure of the machine, is reported
in one line; so is an error of an environment (``host.environments.border.EnvironmentFailed``). Any
other error is a bug of rlfabric, and has a traceback.
"""

import os
import sys
import traceback

from hw.errors import MissingTool, RlfabricError, UsageError

__all__ = ["MISSING_TOOL", "TRACEBACK", "report"]

FAILED, USAGE, MISSING_TOOL, DOES_NOT_FIT, INPUTS_ONLY = 1, 2, 3, 4, 5
WRONG_VERSION, UNWRITABLE, INTERRUPTED = 6, 7, 130

#: environment variable: if it is set, every error has a traceback; `rlfabric -v` sets it
TRACEBACK = "RLFABRIC_TRACEBACK"


def _code(error):
    """The exit code of an error that is not a bug; None for a bug."""
    from boards import DoesNotFit
    from boards.bitstream import ToolsMissing, WrongVersion
    from host import cards
    from host.kernels import Unwritable

    codes = (
        (KeyboardInterrupt, INTERRUPTED),
        (MissingTool, MISSING_TOOL),
        ((DoesNotFit, cards.CapacityError), DOES_NOT_FIT),
        (ToolsMissing, INPUTS_ONLY),
        (WrongVersion, WRONG_VERSION),
        (Unwritable, UNWRITABLE),
        (UsageError, USAGE),
        (RlfabricError, FAILED),
    )
    code = next((code for kind, code in codes if isinstance(error, kind)), None)
    if code is not None:
        return code
    machine = isinstance(error, OSError)
    # Cards call drivers, whose errors are failures of the machine.
    machine |= isinstance(error, RuntimeError) and _passed(error, cards.__name__)
    return FAILED if machine else None


def _passed(error, package):
    """Whether ``error`` came through a function of ``package``."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    names = [frame.f_globals.get("__name__", "") for frame in frames]
    return any(f"{name}.".startswith(f"{package}.") for name in names)


def report(error):
    """Prints the exception ``error``, and returns the exit code that belongs to it. An error that a
    user can cause is printed in one line; a bug is printed with its traceback. On request every
    error is printed with its traceback."""
    cause = error.__cause__
    if isinstance(cause, KeyboardInterrupt):  # Python 3.11 wraps one that comes in __set_name__
        error = cause
    code = _code(error)
    if code is None or os.environ.get(TRACEBACK):
        traceback.print_exception(error)
        if sys.version_info < (3, 11):  # tracebacks of older releases have no notes
            print(*getattr(error, "__notes__", ()), sep="\n", file=sys.stderr)
        return FAILED if code is None else code
    message = "interrupted" if code == INTERRUPTED else str(error)
    notes = getattr(error, "__notes__", ())
    print("; ".join([f"rlfabric: {message}", *notes]), file=sys.stderr)
    return code
