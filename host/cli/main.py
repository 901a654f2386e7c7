"""The command ``rlfabric``: runs ``host.cli.app``, and reports its warnings and errors.

A wrong use, or a failure of the machine, is reported in one line; a bug, of rlfabric or of an
environment, with a traceback. `-v`, before the command or after `train` and `evaluate`, shows a
traceback in both cases.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a tool that `make setup` installs is missing, 4 does
not fit the board, 5 the board's own tools are missing, all their inputs are written, 6 those tools
are of a release that does not fit, 7 the output cannot be written, 130 interrupted.

Importing the commands takes seconds. Before it, Ctrl-C is set to end the program with a word
instead of a traceback.
"""

import importlib
import os
import signal
import sys
import warnings

from host.interrupt import INTERRUPTED, leave

__all__ = ["main"]


def _show(message, category, *place):
    """Prints a warning in one line, without its place in the source code."""
    print(f"rlfabric: warning: {message}", file=sys.stderr)


def _at_once(number, frame):
    """Ends the process. An exception might be caught or wrapped by a module that is imported."""
    os.write(2, b"rlfabric: interrupted\n")
    os._exit(INTERRUPTED)


def _imported(commands):
    """The app of the commands, and the function that reports errors."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _at_once)
    try:
        from host.terminal.exit_codes import report

        app = importlib.import_module(commands).app
    finally:
        signal.signal(signal.SIGINT, before)
    return app, report


def main(commands=f"{__package__}.app"):
    """Runs the command line that the module called ``commands`` has as ``app``, and ends the
    process with an exit code. An error that a user can cause is reported in one line."""
    app, report = _imported(commands)
    warnings.showwarning = _show
    # Amaranth's, for components that estimates and descriptions look at, and nothing elaborates.
    warnings.filterwarnings("ignore", ".* created but never used")
    try:
        code = _code(app, report)
    except KeyboardInterrupt:  # a second one, while the first was reported
        code = INTERRUPTED
    leave(code)


def _code(app, report):
    """The exit code of the command."""
    try:
        app()
    except SystemExit as end:
        cause = getattr(end.__context__, "__cause__", None)
        if isinstance(cause, KeyboardInterrupt):  # typer would end it without a word
            return report(cause)
        return end.code or 0
    except (KeyboardInterrupt, Exception) as error:
        return report(error)
    return 0
