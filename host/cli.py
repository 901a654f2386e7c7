"""The command ``rlfabric``: ``host.commands.app``, its warnings, its errors and its end.

An error of use, or of the machine, is one line; a bug, ours or of an environment, is a traceback.
`-v`, before the command or behind `train` and `evaluate`, shows a traceback of either.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a tool that `make setup` installs is missing, 4 does
not fit the board, 5 the board's own tools are missing, all their inputs are written, 6 those tools
are of a release that does not fit, 7 the output cannot be written, 130 interrupted.

The commands are imported when Ctrl-C is a word and no traceback: that takes seconds.
"""

import importlib
import os
import signal
import sys
import warnings

from host.interrupt import INTERRUPTED, leave

__all__ = ["main"]


def _show(message, category, *place):
    """A warning in a line: where in our code it was raised is nothing to a user."""
    print(f"rlfabric: warning: {message}", file=sys.stderr)


def _at_once(number, frame):
    """An exception might be swallowed or wrapped by whatever is being imported."""
    os.write(2, b"rlfabric: interrupted\n")
    os._exit(INTERRUPTED)


def _imported(commands):
    """The commands, how errors are reported, and the warning that nobody wants."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _at_once)
    try:
        from amaranth.hdl import UnusedElaboratable

        from host.commands.exits import report

        app = importlib.import_module(commands).app
    finally:
        signal.signal(signal.SIGINT, before)
    return app, report, UnusedElaboratable


def main(commands=f"{__package__}.commands.app"):
    """Run the command line of the module ``commands``; what a user can cause ends in one line and
    an exit code."""
    app, report, unused = _imported(commands)
    warnings.showwarning = _show
    # Estimates and descriptions look at components that nothing elaborates.
    warnings.simplefilter("ignore", unused)
    try:
        code = _code(app, report)
    except KeyboardInterrupt:  # one more, while the first was reported
        code = INTERRUPTED
    leave(code)


def _code(app, report):
    """The exit code of the command."""
    try:
        app()
    except SystemExit as end:
        cause = getattr(end.__context__, "__cause__", None)
        if isinstance(cause, KeyboardInterrupt):  # which typer ends without a word
            return report(cause)
        return end.code or 0
    except (KeyboardInterrupt, Exception) as error:
        return report(error)
    return 0
