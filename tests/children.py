"""Processes that a test starts: ``children`` take SIGINT and do not outlive it."""

import signal
import subprocess
import sys

import pytest

from system.tools import BUILD_DIRECTORY

__all__ = ["children", "share_compiled"]


def share_compiled(build):
    """The twins of who builds in ``build`` are compiled once for all tests."""
    kept = BUILD_DIRECTORY / "compiled"
    for folder in (kept, build):
        folder.mkdir(parents=True, exist_ok=True)
    if not (build / kept.name).exists():
        (build / kept.name).symlink_to(kept)


@pytest.fixture
def children(tmp_path):
    """``children(*words, **environment)`` starts Python with ``words`` in ``tmp_path``."""
    share_compiled(tmp_path / "build")
    # Where SIGINT is ignored, as behind an & of a script, children would ignore it too.
    before, started = signal.signal(signal.SIGINT, signal.default_int_handler), []

    def start(*words, **environment):
        process = subprocess.Popen(
            [sys.executable, *words], cwd=tmp_path, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
    signal.signal(signal.SIGINT, before)
