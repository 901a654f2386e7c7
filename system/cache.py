"""Folders of build outputs that are made once: by one process at a time, complete, and checked at
each use.

A folder is filled under another name and then renamed. A file in it has the digests of all others
and the seal of the user who made it: an HMAC with the user's key (``system.key``). A folder that is
damaged, or that another user or somebody's archive brought, is made again. What is run is loaded
from the bytes that were checked (``contents``), so that the permissions of the folder do not
matter: some drives have none.
"""

import hashlib
import hmac
import json
import secrets
import shutil
import stat
import sys
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from hw.errors import Failure, RlfabricError, UsageError
from system.disk import naming, process_folder
from system.key import user_key
from system.lock import Held, locked

__all__ = ["DIGESTS", "Unwritable", "contents", "is_whole", "kept", "lasting", "say", "seal"]

#: in each folder: ``files``, file -> SHA-256, and their ``seal``
DIGESTS = ".sha256.json"
#: of folders that are being filled, or that a killed process has left
_PARTIAL = ".partial"
#: Longer than any build that somebody waits for.
_LIMIT_S = 3600.0


class Unwritable(RlfabricError, OSError):
    """A generated file or its folder cannot be written."""


def say(text):
    """Prints ``text`` as one line on stderr: what takes long, or is out of the ordinary."""
    print(f"rlfabric: {text}", file=sys.stderr, flush=True)


@cache
def _key():
    """``(key, lasting)``: the user's key, or one of this process without a place for the
    user's, which one line says."""
    try:
        return user_key(), True
    except UsageError as error:
        say(f"nothing that is compiled is kept after this process: {error}")
        return secrets.token_bytes(), False


def lasting():
    """Whether the user has a key, so that what is compiled is kept between processes."""
    return _key()[1]


def seal(name, data):
    """The bytes of the HMAC of ``data``, which are kept by the ``name``, with the user's key."""
    return hmac.digest(_key()[0], name.encode() + b"\0" + data, "sha256")


def kept(folder, make, *, limit_s=_LIMIT_S):
    """Returns the path ``folder``, which is made first if it is missing or damaged.

    To make it, ``make(work)`` is called with a temporary folder, and puts the contents into
    ``work / "out"``, which then becomes ``folder``. If another process is making it, waits for at
    most ``limit_s`` seconds, and says for which process. Without a place for the user's
    key, the folder is another one, which lasts as long as this process. Raises Unwritable if the
    folder cannot be written, and Failure after ``limit_s``.
    """
    folder = Path(folder)
    if not lasting():
        folder = Path(process_folder(), *folder.absolute().parts[1:])
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
    with _writing(lock.parent):
        lock.parent.mkdir(parents=True, exist_ok=True)
        with lock.open("a", encoding="utf-8"):
            pass


@contextmanager
def _writing(folder):
    """An OSError in the block raises ``Unwritable``, which names ``folder``."""
    try:
        yield
    except OSError as error:
        raise Unwritable(
            f"{folder} must be a folder that can be written, for what is built, not refused "
            f"({error.strerror}); RLFABRIC_BUILD names another"
        ) from error


def _fill(folder, make):
    for litter in folder.parent.glob(f".{folder.name}.*{_PARTIAL}"):
        shutil.rmtree(litter, ignore_errors=True)
    if folder.exists():
        say(f"{folder} is made again, for it is damaged or not of this user")
    # The name says whose it is, so that the next maker finds what a killed one has left.
    work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=_PARTIAL))
    try:
        out = work / "out"
        out.mkdir()
        with naming(folder):
            make(work)
            files = _digests(out)
            sealed = {"files": files, "seal": _seal(folder, files)}
            (out / DIGESTS).write_text(json.dumps(sealed, indent=1), encoding="utf-8")
        with _writing(folder.parent):
            if folder.exists():
                folder.rename(work / "damaged")
            out.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _seal(folder, files):
    return seal(folder.name, json.dumps(files, sort_keys=True).encode()).hex()


def _digests(folder):
    """Digests of all files in ``folder`` but DIGESTS; ValueError if it has anything that is
    neither a file nor a folder, such as a link."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode, name = path.lstat().st_mode, str(path.relative_to(folder))
        if stat.S_ISREG(mode):
            found[name] = _digest(path.read_bytes())
        elif not stat.S_ISDIR(mode):
            raise UsageError(f"{path} must be a file or a folder, not a link or a device")
    found.pop(DIGESTS, None)
    return found


def _digest(data):
    return hashlib.sha256(data).hexdigest()


def _sealed(folder):
    """``{file: digest}`` that ``kept`` has written for ``folder``; None without this user's
    seal."""
    try:
        found = json.loads((folder / DIGESTS).read_bytes())
        files, sealed = found["files"], bytes.fromhex(found["seal"])
        wanted = bytes.fromhex(_seal(folder, files))
        return files if hmac.compare_digest(sealed, wanted) else None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def is_whole(folder):
    """Whether ``folder`` has the files that ``kept`` has put there for this user, unchanged, and no
    others."""
    try:
        files = _sealed(folder)
        return files is not None and _digests(folder) == files
    except (OSError, ValueError):  # among them: another process makes it again
        return False


def contents(path):
    """The bytes of the file ``path`` in a folder of ``kept``, as they were made: to be run from
    there, whoever replaces the file meanwhile. Failure if they have changed since."""
    data, files = path.read_bytes(), _sealed(path.parent) or {}
    if files.get(path.name) != _digest(data):
        raise Failure(f"{path} must be as it was built, not changed meanwhile; try again")
    return data
