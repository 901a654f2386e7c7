"""The command line, run in this process."""

import sys
import warnings

import pytest

from host import cli
from host.exits import TRACEBACK


@pytest.fixture
def run(monkeypatch, capsys):
    """``run(*words)`` gives exit code, standard output and standard error of the command."""

    monkeypatch.setenv(TRACEBACK, "")  # -v sets it
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["rlfabric", *map(str, words)])
        try:
            cli.main()
            code = 0
        except SystemExit as exit:
            code = exit.code or 0
        return code, *capsys.readouterr()

    return call
