"""A lock between processes that says who has it."""

import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from hw.errors import Failure, UsageError
from system.disk import naming

__all__ = ["Held", "locked"]

_POLL_S = 0.1


class Held(Failure):
    """Another process has the lock, still after ``waited_s`` seconds.

    ``holder`` is a text that says which process, since when, and what it runs.
    """

    def __init__(self, holder, waited_s):
        self.holder = holder
        super().__init__(f"the lock must be free within {waited_s:g} s, not held by {holder}")


@contextmanager
def locked(path, *, limit_s=0.0, waiting=None):
    """A context manager that holds the lock file ``path`` while its block runs.

    If the process dies, the lock is free.

    Parameters
    ----------
    path : path
        In a folder that exists. The file stays, with the last holder's words.
    limit_s : float
        Seconds to wait for another holder before ``Held`` is raised; 0: not at all.
    waiting : callable, optional
        Called once with the holder's words if there is somebody to wait for.

    UsageError if ``path`` is a link.
    """
    if Path(path).is_symlink():  # the file that it leads to would be written
        raise UsageError(f"{path} must be a file, not a link")
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        if not limit_s:
            raise Held(_holder(path), limit_s) from None
        if waiting is not None:
            waiting(_holder(path))
        try:
            lock.acquire(timeout=limit_s, poll_interval=_POLL_S)
        except Timeout:
            raise Held(_holder(path), limit_s) from None
    try:
        program, *words = sys.argv or [""]  # a program that embeds Python may have none
        command = " ".join([Path(program).name, *words])
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        with naming(path):
            # Words of a locale that is not UTF-8 may be bytes that no text is.
            text = f"process {os.getpid()} since {since} ({command})\n"
            Path(path).write_bytes(text.encode(errors="backslashreplace"))
        yield
    finally:
        lock.release()


def _holder(path):
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip() or "another process"
    except OSError:
        return "another process"
