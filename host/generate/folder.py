"""The folder of a generated kernel: it has files of one kernel, and ``manifest.json`` lists them.

When a kernel takes a folder, files of another kernel are removed. There are two exceptions: a
finished bitstream, which is hours of work and needs its ``kernel.json``, and a file that was
changed by hand. Because of these the folder is refused, or on request they move to a folder inside.
"""

import hashlib
import itertools
import json
from contextlib import contextmanager
from pathlib import Path

from boards.bitstream import finished
from boards.report import PICTURE, REPORT
from host.checkpoint import atomic_write
from hw.errors import UsageError
from sim.cache import Unwritable, say

__all__ = ["MANIFEST", "manifest", "take", "write"]

MANIFEST = "manifest.json"

_DESCRIPTION = "kernel.json"
#: Files that nobody writes by hand; they are replaced without a question.
_OURS = {_DESCRIPTION, MANIFEST, REPORT, PICTURE}


def manifest(identity, files, known=()):
    """``manifest.json`` as bytes: the kernel's identity, and the SHA-256 of each of ``files``,
    ``{name: bytes}``.

    ``known`` : digests of other files in the folder.
    """
    digests = {**dict(known), **{name: _digest(data) for name, data in files.items()}}
    return (json.dumps({**identity, "sha256": digests}, indent=2, sort_keys=True) + "\n").encode()


def take(directory, identity, files=(), *, overwrite=False):
    """Takes ``directory`` for a kernel: files of another kernel are removed if they are as its
    manifest says.

    ``Unwritable`` if the system refuses.

    Parameters
    ----------
    identity : dict of str
        The kernel's identity with its ``config_hash``, with which its manifest begins.
    files : dict of name to bytes
        Files that will be written.
    overwrite : bool
        Whether files that must not be lost move to a folder inside, which is named after the hash
        of their config. If not, they raise ValueError, and nothing is touched.
    """
    directory = Path(directory)
    with _writable(directory):
        _take(directory, identity, dict(files), overwrite)


def write(directory, identity, files, *, overwrite=False):
    """Takes the directory (``take``) and writes ``files``, ``{name: bytes}``, the manifest last.

    A file that has its content already is not touched, so that a tool which compares dates does not
    repeat its work. ``Unwritable`` if the system refuses.
    """
    directory = Path(directory)
    with _writable(directory):
        _take(directory, identity, files, overwrite)
        _, digests = _read(directory)
        known = {name: digests[name] for name in digests if (directory / name).exists()}
        listed = {**files, MANIFEST: manifest(identity, files, known)}
        for name, data in listed.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.read_bytes() != data:
                atomic_write(path, lambda opened, data=data: opened.write(data))
    return directory


def _take(directory, identity, files, overwrite):
    earlier, digests = _read(directory)
    before = earlier.get("config_hash") or _hash_of(directory)
    same = earlier == identity
    made = finished(directory) if before not in (None, identity["config_hash"]) else []
    changed = _changed(directory, digests, files, same)
    if made or changed:
        place = _free(directory, before or "unknown")
        if not overwrite:
            raise UsageError(_refusal(directory, made, changed, before, place))
        place.mkdir()
        for path in [*made, *[directory / _DESCRIPTION] * bool(made), *changed]:
            if path.exists():
                path.rename(place / path.name)
        say(f"files in {directory} that rlfabric must not replace are now in {place}")
    if not same:
        for name in digests:
            (directory / name).unlink(missing_ok=True)
        (directory / MANIFEST).unlink(missing_ok=True)


@contextmanager
def _writable(directory):
    try:
        yield
    except OSError as error:
        raise Unwritable(f"{directory} must be writable, not refused: {error.strerror}") from error


def _digest(data):
    return hashlib.sha256(data).hexdigest()


def _read(directory):
    """The identity and the digests in a directory's manifest; both are empty without one."""
    try:
        found = json.loads((directory / MANIFEST).read_bytes())
        return found, dict(found.pop("sha256"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}, {}


def _hash_of(directory):
    """The config hash in a ``kernel.json`` without a manifest; None without one."""
    try:
        return f"{json.loads((directory / _DESCRIPTION).read_bytes())['config_hash']:#018x}"
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _changed(directory, digests, files, same):
    """Paths of files that would be removed, or replaced by another content, but are not as the
    manifest says."""
    lost = set(files) | (set() if same else set(digests))
    found = []
    for name in sorted(lost - _OURS):
        path = directory / name
        if path.is_file():
            data = path.read_bytes()
            if data != files.get(name) and _digest(data) != digests.get(name):
                found.append(path)
    return found


def _free(directory, name):
    """A folder inside that does not exist yet."""
    numbers = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    return next(path for path in (directory / f"{name}{n}" for n in numbers) if not path.exists())


def _refusal(directory, made, changed, before, place):
    words = f"--overwrite moves it to {place.name} inside, --out names another folder"
    if made:
        names = ", ".join(path.name for path in made)
        return (
            f"out must be a folder without the finished bitstream of another kernel, not "
            f"{directory} with {names}, which needs the {_DESCRIPTION} there (config hash "
            f"{before}): {words}"
        )
    names = ", ".join(str(path) for path in changed)
    return f"{names} must be as rlfabric wrote it to be replaced, not changed: {words}"
