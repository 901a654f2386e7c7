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
from hw.names import check_no_links, inside
from system.cache import Unwritable, say

__all__ = ["MANIFEST", "manifest", "take", "writable", "write", "write_files"]

MANIFEST = "manifest.json"

_DESCRIPTION = "kernel.json"
#: Files that nobody writes by hand; they are replaced without a question.
_OURS = {_DESCRIPTION, MANIFEST, REPORT, PICTURE}


def manifest(identity, files, known=()):
    """The bytes of ``manifest.json``: a JSON object with the kernel's ``identity``, a dict, and
    ``sha256``, which has the digest of each of ``files``, ``{name: bytes}``.

    ``known`` : ``{name: digest}`` of other files in the folder, which are kept in it.
    """
    digests = {**dict(known), **{name: _digest(data) for name, data in files.items()}}
    return (json.dumps({**identity, "sha256": digests}, indent=2, sort_keys=True) + "\n").encode()


def take(directory, identity, files=(), *, overwrite=False):
    """Prepares ``directory`` for the files of a kernel: the files of another kernel, which its
    manifest lists, are removed.

    Two kinds of files must not be lost: a finished bitstream of another kernel, with its
    ``kernel.json``, and files that are not as the manifest says. ``Unwritable`` if the system does
    not allow a change; UsageError if the manifest names files elsewhere or a file is a link.

    Parameters
    ----------
    identity : dict of str
        The identity of the kernel that takes the directory, with its ``config_hash``.
    files : dict of name to bytes
        Files that will be written, so that other files of these names would be lost.
    overwrite : bool
        Whether files that must not be lost are moved to a folder inside, which is named after the
        hash of their config. If not, they raise ValueError, and nothing is changed.
    """
    directory = Path(directory)
    with writable(directory):
        _take(directory, identity, dict(files), overwrite)


def write(directory, identity, files, *, overwrite=False):
    """Prepares the directory as ``take`` does, with the same arguments and errors; then writes
    ``files``, ``{name: bytes}``, and the manifest last. Returns the directory's Path.

    A file that has its content already is not written, so that a tool which compares dates does not
    repeat its work.
    """
    directory = Path(directory)
    with writable(directory):
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


def write_files(directory, files):
    """Writes ``files``, ``{name: bytes}``, to ``directory``, which is made if it is not there, and
    returns its Path. They replace others of these names; there is no manifest. ``Unwritable`` if
    the system refuses."""
    directory = Path(directory)
    with writable(directory):
        directory.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            atomic_write(directory / name, lambda opened, data=data: opened.write(data))
    return directory


def _take(directory, identity, files, overwrite):
    check_no_links(directory)
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
def writable(directory):
    """An OSError in the block raises ``Unwritable``, which names the directory."""
    try:
        yield
    except OSError as error:
        raise Unwritable(f"{directory} must be writable, not refused: {error.strerror}") from error


def _digest(data):
    return hashlib.sha256(data).hexdigest()


def _read(directory):
    """The identity and the digests in a directory's manifest; both are empty without one.
    UsageError if it names a file that is not in the directory."""
    try:
        found = json.loads((directory / MANIFEST).read_bytes())
        digests = dict(found.pop("sha256"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}, {}
    for name in digests:
        inside(directory, name, f"name in {directory / MANIFEST}")
    return found, digests


def _hash_of(directory):
    """The config hash in a ``kernel.json`` without a manifest; None without one."""
    try:
        return f"{json.loads((directory / _DESCRIPTION).read_bytes())['config_hash']:#018x}"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
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
