"""SIGINT and SIGTERM as a request to stop, so that work in progress ends whole."""

import signal
import threading
from contextlib import contextmanager

__all__ = ["INTERRUPTED", "stop_requests", "terminating"]

#: exit code after an interrupt, as a shell gives for SIGINT
INTERRUPTED = 130


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

    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
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
