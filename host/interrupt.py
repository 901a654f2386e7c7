"""SIGINT and SIGTERM as a request to stop, so that work in progress ends whole."""

import atexit
import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress

__all__ = ["INTERRUPTED", "leave", "leaving_behind", "stop_requests", "terminating"]

#: exit code after an interrupt, as a shell gives for SIGINT
INTERRUPTED = 130

_SIGNALS = (signal.SIGINT, signal.SIGTERM)

#: how long Python's end waits for a thread that was left behind
_END_S = 30.0

_left = []


@contextmanager
def stop_requests():
    """Yield a list that a signal is appended to; look at it where stopping is safe.

    A second signal raises KeyboardInterrupt at once. Outside the main thread, where Python takes
    no signals, the list stays empty.
    """
    received = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return

    def handle(number, frame):
        if received:
            raise KeyboardInterrupt
        received.append(signal.Signals(number))

    previous = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def terminating():
    """SIGTERM raises KeyboardInterrupt in the block, as SIGINT does, so that what was begun is
    cleared away. Outside the main thread nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number, frame):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


@contextmanager
def leaving_behind(thread):
    """The daemon ``thread``, if it is alive behind the block, has a call that nobody waits for.

    The interpreter cannot be taken down around such a thread: what it works on would be freed under
    it, or the thread end in the midst of C code that does not expect it, and the process abort.
    ``leave`` goes without taking it down; the end of any other program waits for the call.
    """
    _left.append(thread)
    try:
        yield
    finally:
        if not thread.is_alive():
            _left.remove(thread)


@atexit.register
def _wait_for_left():
    for thread in _left:
        thread.join(_END_S)


def leave(code):
    """End the process with ``code``, whatever signals come meanwhile.

    What still has to be waited for, such as a thread of an environment, another signal ends at
    once. Python takes its signal handlers away long before it has ended itself: from there on
    signals are ignored, for one would kill the process, and its exit code would be of that.
    """

    def at_once(number, frame):
        _exit(code)

    for number in _SIGNALS:
        signal.signal(number, at_once)
    atexit.register(_deaf)
    if any(thread.is_alive() for thread in _left):
        _left.clear()
        atexit._run_exitfuncs()
        _exit(code)
    sys.exit(code)


def _deaf():
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _exit(code):
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, RuntimeError):  # full, closed, or being written to
            stream.flush()
    os._exit(code)
