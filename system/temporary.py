"""Temporary folders that go with their process, however it ends: the next one clears them away."""

import atexit
import os
import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from filelock import FileLock, Timeout

__all__ = ["clear_dead", "process_folder", "temporary_folder"]

_PREFIX, _LOCK = "rlfabric-", ".lock"


@contextmanager
def temporary_folder(place=None):
    """A context manager whose value is the Path of a folder that only this user can enter, in
    ``place``, or where the system has its temporary files. It is removed with the block; if the
    process is killed before, ``clear_dead`` of a later one removes it.

    A lock in the folder says that its process is alive, in whichever container it is: a process id
    would say nothing there.
    """
    clear_dead(place)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=place, ignore_cleanup_errors=True) as made:
        with FileLock(Path(made) / _LOCK):
            yield Path(made)


@cache
def process_folder():
    """The Path of a ``temporary_folder`` that goes with this process."""
    made = ExitStack()
    atexit.register(made.close)
    return made.enter_context(temporary_folder())


def clear_dead(place=None):
    """Removes the folders of ``temporary_folder`` in ``place`` whose processes were killed: this
    user's, whose lock is there and free."""
    for folder in Path(place or tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        lock = folder / _LOCK
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid() or not lock.is_file():
                continue
            with FileLock(lock, timeout=0):
                shutil.rmtree(folder, ignore_errors=True)
        except (OSError, Timeout):  # another process has it, or removes it too
            continue
