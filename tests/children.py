"""``children``: processes that a test starts, which take SIGINT and do not outlive it."""

import signal
import subprocess
import sys

import pytest

__all__ = ["children"]


@pytest.fixture
def children(tmp_path):
    """``children(*words, **environment)`` starts Python with ``words`` in ``tmp_path``."""
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
