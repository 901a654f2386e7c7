"""Paths as users write them, temporary folders, and disk errors that name their file."""

import atexit
import os
import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from functools import cache
from os import PathLike
from pathlib import Path

from filelock import FileLock, Timeout

from hw.errors import UsageError

__all__ = ["clear_dead", "naming", "process_folder", "temporary_folder", "user_path"]

_PREFIX, _LOCK = "rlfabric-", ".lock"


def user_path(path: str | PathLike[str]) -> Path:
    """``path`` with a home in place of its ``~`` or ``~user``, which a shell leaves in
    ``--out=~/runs``, and Python always. UsageError if that home is unknown."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{path} must be in a home that is known, not without one") from error


@contextmanager
def naming(path):
    """A context manager: an OSError in its block passes on, with ``path`` as its file name if it
    has none. A write to a full disk knows only the number of its file."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def temporary_folder(place=None):
    """A context manager whose value is the Path of a folder that only this user can enter, in
    ``place``, or where the system has its temporary files. It is removed with the block; if the
    process is killed before, the next process that makes one removes it (``clear_dead``).

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
    """Removes the folders of ``temporary_folder`` in ``place`` whose processes were killed: folders
    of this user with a lock file that no process holds."""
    for folder in Path(place or tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        lock = folder / _LOCK
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid() or not lock.is_file():
                continue
            with FileLock(lock, timeout=0):
                shutil.rmtree(folder, ignore_errors=True)
        except (OSError, Timeout):  # another process has it, or removes it too
            continue
