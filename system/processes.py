"""Tools as child processes that end with this process: an interrupted build leaves none running."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager

from hw.errors import Failure
from system.tools import tool_environment

__all__ = ["BuildError", "run", "run_all"]

_POLL_S = 0.01


class BuildError(Failure):
    """A tool refused its input; the message ends with what it printed."""


def run(work, *command):
    """Runs ``command``, a program and its arguments, in the folder ``work``, and waits for its end.

    Returns what it printed on stdout. BuildError if it fails.
    """
    with _children() as running:
        child = _begin(running, work, command)
        child.process.wait()
        return child.output()


def run_all(work, commands):
    """Runs ``commands`` in the folder ``work``, as many at a time as this process may use cores.

    Each is a sequence of a program and its arguments. On a terminal a line counts those that have
    ended. If one fails, the others are ended, and BuildError is raised for it.
    """
    jobs = len(os.sched_getaffinity(0))
    waiting, done = list(reversed(commands)), 0
    with _children() as running:
        while waiting or running:
            while waiting and len(running) < jobs:
                _begin(running, work, waiting.pop())
            ended = [child for child in running if child.process.poll() is not None]
            for child in ended:
                child.output()
                running.remove(child)
            done += len(ended)
            if ended:
                _count(done, len(commands))
            else:
                time.sleep(_POLL_S)


def _count(done, total):
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\r{done} of {total} units", end=end, file=sys.stderr, flush=True)


class _Child:
    """A process in a group of its own, which is killed as a whole: a compiler has children too."""

    def __init__(self, work, command):
        environment = tool_environment()
        # subprocess looks programs up on its own PATH, not on that of the environment it passes on.
        program = shutil.which(command[0], path=environment["PATH"])
        self.name = command[0]
        # Files, not pipes: nobody has to read them while the process runs.
        self._printed = [tempfile.TemporaryFile("w+", encoding="utf-8") for _ in range(2)]
        self.process = subprocess.Popen(
            [program, *command[1:]], cwd=work, env=environment, stdin=subprocess.DEVNULL,
            stdout=self._printed[0], stderr=self._printed[1], start_new_session=True,
        )  # fmt: skip

    def output(self):
        """What the process, which has ended, printed on stdout."""
        printed, errors = (self._text(file) for file in self._printed)
        if self.process.returncode:
            words = (errors + printed).strip()
            raise BuildError(f"{self.name} must accept its input, not fail:\n{words[-4000:]}")
        return printed

    def _text(self, file):
        with file:
            file.seek(0)
            return file.read()

    def kill(self):
        if self.process.poll() is None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended since
            self.process.wait()


@contextmanager
def _children():
    """A list of children; those that are in it at the end are killed."""
    running = []
    try:
        yield running
    finally:
        for child in running:
            child.kill()


def _begin(running, work, command):
    """A new child, in the list ``running``."""
    with _signals_later():
        running.append(_Child(work, command))
    return running[-1]


@contextmanager
def _signals_later():
    """Delays Ctrl-C and SIGTERM until the block ends: inside Popen they would lose a process that
    has just started."""
    came, before = [], {}
    if threading.current_thread() is threading.main_thread():  # others are not interrupted
        for number in (signal.SIGINT, signal.SIGTERM):
            if callable(signal.getsignal(number)):
                before[number] = signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)
