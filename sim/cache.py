"""Folders of build outputs that are made once: by one process at a time, complete, and checked at
each use.

A folder is filled under another name and then renamed. A file of digests in it shows damage by a
full disk or a loss of power; a damaged folder is made again. Code in a folder is run, and anybody
who can write the folder can write the digests too. So a folder with a file that others may write is
made again, and a folder of another user is refused.
"""

import hashlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from hw.errors import Failure, RlfabricError, UsageError
from sim.disk import naming
from sim.lock import Held, locked

__all__ = ["DIGESTS", "Unwritable", "is_whole", "kept", "own", "protect", "say"]

#: in each folder: file -> SHA-256
DIGESTS = ".sha256.json"
#: of folders that are being filled, or that a killed process has left
_PARTIAL = ".partial"
#: whose files are run
_USERS = (os.getuid(), 0)
#: Longer than any build that somebody waits for.
_LIMIT_S = 3600.0


class Unwritable(RlfabricError, OSError):
    """A generated file or its folder cannot be written."""


def say(text):
    """Prints ``text`` as one line on stderr: what takes long, or is out of the ordinary."""
    print(f"rlfabric: {text}", file=sys.stderr, flush=True)


def kept(folder, make, *, limit_s=_LIMIT_S):
    """Returns the path ``folder``, which is made first if it is missing or damaged.

    To make it, ``make(work)`` is called with a temporary folder, and puts the contents into
    ``work / "out"``, which then becomes ``folder``. If another process is making it, waits for at
    most ``limit_s`` seconds, and says for which process. Raises Unwritable if the folder cannot be
    written, Failure after ``limit_s``, and UsageError if another user has made it.
    """
    folder = Path(folder)
    if _is_usable(folder):
        return folder

    def waiting(holder):
        say(f"waiting at most {limit_s:.0f} s for {folder}, which is being made by {holder}")

    lock = folder.parent / f".{folder.name}.lock"
    try:
        _prepare(lock)
        with locked(lock, limit_s=limit_s, waiting=waiting):
            if not _is_usable(folder):
                _fill(folder, make)
    except Held as held:
        raise Failure(
            f"{folder} must be made within {limit_s:g} s, not still by {held.holder}"
        ) from None
    return folder


def _prepare(lock):
    """Make the folder of ``lock``; Unwritable unless files can be made in it."""
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        with lock.open("a"):
            pass
    except OSError as error:
        raise Unwritable(
            f"{lock.parent} must be a folder that can be written, for what is built, not refused "
            f"({error.strerror}); RLFABRIC_BUILD names another"
        ) from error


def _fill(folder, make):
    for litter in folder.parent.glob(f".{folder.name}.*{_PARTIAL}"):
        shutil.rmtree(litter, ignore_errors=True)
    if folder.exists():
        why = "others may write it" if is_whole(folder) else "it is damaged"
        say(f"{folder} is made again, for {why}")
    # The name says whose it is, so that the next maker finds what a killed one has left.
    work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=_PARTIAL))
    try:
        out = work / "out"
        out.mkdir()
        with naming(folder):
            make(work)
            (out / DIGESTS).write_text(json.dumps(_digests(out), indent=1))
            for path in _paths(out):
                protect(path)
        if folder.exists():
            folder.rename(work / "damaged")
        out.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def protect(path):
    """Takes the permission to write ``path`` from everybody but this user, whatever the umask
    is."""
    path.chmod(path.stat().st_mode & ~0o022)


def own(path):
    """Whether ``path`` belongs to this user or root, and nobody else may write it."""
    found = path.stat()
    return found.st_uid in _USERS and not found.st_mode & 0o022


def _paths(folder):
    return [folder, *folder.rglob("*")]


def _is_usable(folder):
    """Whether ``folder`` is there, is complete, and only this user can write it."""
    try:
        paths = _paths(folder) if folder.exists() else []
        if any(path.stat().st_uid not in _USERS for path in paths):
            raise UsageError(
                f"{folder} must be of this user or root, not of another, for its code is run; "
                "RLFABRIC_BUILD names another folder for what is built"
            )
        return bool(paths) and all(map(own, paths)) and is_whole(folder)
    except OSError:  # another process makes it again
        return False


def _digests(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): _digest(path) for path in files}


def _digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_whole(folder):
    """Whether every file that ``kept`` has put into ``folder`` is still there, unchanged."""
    try:
        wanted = json.loads((folder / DIGESTS).read_text())
        return all(_digest(folder / name) == digest for name, digest in wanted.items())
    except (OSError, ValueError):
        return False
