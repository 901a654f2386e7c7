"""Two processes of one run that send each other Python's values through a pair of sockets."""

import pickle
import select
import socket
import struct
import threading
from contextlib import contextmanager

__all__ = ["Link", "LinkBroken"]

#: Seconds in which the other process must take, or send, the rest of a value.
_STUCK_S = 60.0


class LinkBroken(Exception):
    """The other process has ended, or stands still in the middle of a value."""


class Link:
    """One end of a ``socket.socketpair``. Values are pickled, which is safe because both ends are
    processes of one run; arrays in them are sent as they are (PEP 574), without a copy.

    A value is, in this order: the number of its parts and the bytes of each, 64 bits each, and the
    parts: the pickle, then its buffers.

    Parameters
    ----------
    end : socket.socket
    patient : bool
        Whether ``send`` waits as long as the other end takes nothing: the run takes nothing while
        it evaluates.
    """

    def __init__(self, end, patient=False):
        self._socket, self._lock = end, threading.Lock()
        # Python's own limit is one for both directions, which two threads use at once.
        end.settimeout(None)
        limit = struct.pack("ll", *divmod(round(_STUCK_S * 1e6), 10**6))
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        if not patient:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)

    def send(self, value):
        """Sends ``value``. LinkBroken if the other end is gone. Threads may call it."""
        buffers = []
        data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        parts = [memoryview(data), *(buffer.raw() for buffer in buffers)]
        sizes = (part.nbytes for part in parts)
        with self._lock, _broken():
            self._socket.sendall(struct.pack(f"<{1 + len(parts)}Q", len(parts), *sizes))
            for part in parts:
                self._socket.sendall(part)

    def poll(self, timeout):
        """Waits at most ``timeout`` seconds, None: as long as it takes, and returns whether
        ``receive`` has a value, or finds the other end gone."""
        waiting = select.poll()  # select.select takes no file above 1023
        waiting.register(self._socket, select.POLLIN)
        return bool(waiting.poll(None if timeout is None else max(0, round(timeout * 1000))))

    def receive(self):
        """The next value. LinkBroken if the other end is gone."""
        with _broken():
            [count] = struct.unpack("<Q", self._read(8))
            sizes = struct.unpack(f"<{count}Q", self._read(8 * count))
            data, *buffers = [self._read(size) for size in sizes]
        return pickle.loads(data, buffers=buffers)

    def _read(self, size):
        """``size`` bytes; the first of a value may be waited for, the others must be under way."""
        data = bytearray(size)
        view = memoryview(data)
        while view:
            taken = self._socket.recv_into(view)
            if not taken:
                raise LinkBroken
            view = view[taken:]
        return data

    def close(self):
        self._socket.close()


@contextmanager
def _broken():
    """A context manager: an error of the socket in its block is a LinkBroken."""
    try:
        yield
    except OSError as error:  # BlockingIOError: nothing within the limit
        raise LinkBroken(str(error)) from error
