"""A command line inside this process: what it prints, and what it exits with."""

import sys
import warnings

from host.cli import main
from host.terminal.exit_codes import TRACEBACK

__all__ = ["in_process"]


def in_process(monkeypatch, capsys, *commands):
    """``run(*words)`` gives exit code, standard output and standard error of ``rlfabric``, or of
    the module ``commands``."""
    monkeypatch.setenv(TRACEBACK, "")  # -v sets it
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(main, "leave", sys.exit)  # this process goes on

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["rlfabric", *map(str, words)])
        try:
            main.main(*commands)
            code = 0
        except SystemExit as exit:
            code = exit.code or 0
        return code, *capsys.readouterr()

    return run
