"""SIGINT and SIGTERM as requests to stop, so that work in progress can be finished."""

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

#: seconds that the end of Python waits for a thread that was left behind
_END_S = 30.0

_left = []


@contextmanager
def stop_requests(stop=None):
    """A context manager whose value is a list. Within the block the first SIGINT or SIGTERM is
    appended to the list, ``stop()`` is called if it is given, and nothing else happens; the caller
    must look at the list where stopping is safe.

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
        if stop is not None:
            stop()

    previous = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def terminating():
    """A context manager: within the block SIGTERM raises KeyboardInterrupt, as SIGINT does, so that
    unfinished work is cleared away. Outside the main thread it changes nothing."""
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
    """A context manager around the last wait for the daemon ``thread``. If the thread is alive
    after the block, it is noted as left behind.

    The interpreter cannot be shut down beside such a thread: the thread's data would be freed, or
    the thread would end inside C code that does not expect it, and the process would abort.
    ``leave`` ends the process without this shutdown. A program that ends otherwise waits up to 30
    seconds for each such thread.
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
    """Ends the process with the exit code ``code``, also if SIGINT or SIGTERM come meanwhile.

    If the end has to wait, for example for a thread of an environment, a signal ends the process at
    once, with ``code``. In the last part of Python's own end, when no Python function handles
    signals any more, both signals are ignored, since they would change the exit code. If a thread
    was left behind (``leaving_behind``) and is still alive, the process ends without waiting for
    it.
    """

    def at_once(number, frame):
        _exit(code)

    for number in _SIGNALS:
        signal.signal(number, at_once)
    atexit.register(_deaf)
    left = any(thread.is_alive() for thread in _left)
    # A KeyboardInterrupt in ``exec`` of a text, as in the making of a dataclass, leaves a mark in
    # Python, which then ends by SIGINT whatever the code, even if the exception was handled.
    if left or code == INTERRUPTED:
        if not left:
            threading._shutdown()
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
