"""Folders that are made once for all who need them: one maker at a time, whole, checked when used.

A folder is filled aside and renamed. A file of digests in it tells a whole one from one that was
damaged since, by a full disk or a loss of power, which is made again.
"""

import hashlib
import json
import shutil
import sys
import tempfile
from pathlib import Path

from hw.errors import Failure, RlfabricError
from sim.disk import naming
from sim.lock import Held, locked

__all__ = ["DIGESTS", "Unwritable", "is_whole", "kept", "say"]

#: in each folder: file -> SHA-256
DIGESTS = ".sha256.json"
#: of folders that are being filled, or that a killed process has left
_PARTIAL = ".partial"
#: Longer than any build that somebody waits for.
_LIMIT_S = 3600.0


class Unwritable(RlfabricError, OSError):
    """A generated file or its folder cannot be written."""


def say(text):
    """One line on stderr: what takes long, or is out of the ordinary."""
    print(f"rlfabric: {text}", file=sys.stderr, flush=True)


def kept(folder, make, *, limit_s=_LIMIT_S):
    """``folder``, which ``make(work)`` fills as ``work / "out"`` unless it is there and whole.

    Who comes while another process makes it waits, and says for whom. Raises Unwritable, and
    sim.lock.Held after ``limit_s``.
    """
    folder = Path(folder)
    if is_whole(folder):
        return folder

    def waiting(holder):
        say(f"waiting at most {limit_s:.0f} s for {folder}, which is being made by {holder}")

    lock = folder.parent / f".{folder.name}.lock"
    try:
        _prepare(lock)
        with locked(lock, limit_s=limit_s, waiting=waiting):
            if not is_whole(folder):
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
        say(f"{folder} is damaged; it is made again")
    # The name says whose it is, so that the next maker finds what a killed one has left.
    work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=_PARTIAL))
    try:
        out = work / "out"
        out.mkdir()
        with naming(folder):
            make(work)
            (out / DIGESTS).write_text(json.dumps(_digests(out), indent=1))
        if folder.exists():
            folder.rename(work / "damaged")
        out.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _digests(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): _digest(path) for path in files}


def _digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_whole(folder):
    """Whether every file that was put into ``folder`` is there as it was."""
    try:
        wanted = json.loads((folder / DIGESTS).read_text())
        return all(_digest(folder / name) == digest for name, digest in wanted.items())
    except (OSError, ValueError):
        return False
