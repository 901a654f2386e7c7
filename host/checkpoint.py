"""Checkpoints: nested state in one file that is either whole or absent.

The file is a zip (NumPy's npz) of one JSON tree and the arrays that the tree names. It has no
pickle, so reading a stranger's file runs no code, and no compression, so reading takes no more
memory than the file has bytes. Names in the file, such as a module of an environment, are left to
the caller. A file is written beside its target, flushed, and then renamed to it.
"""

import json
import os
import secrets
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import contextmanager
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import IO

import numpy as np

from hw.errors import RlfabricError, UsageError
from system.disk import naming, user_path

__all__ = [
    "PARTIAL",
    "WRONG",
    "CheckpointError",
    "atomic_write",
    "check_exists",
    "check_writable",
    "load",
    "restoring",
    "save",
    "write_text",
]

#: end of the names of files that are being written, or that a killed process has left
PARTIAL = ".partial"

#: exceptions that wrong parts of a file may raise: parts that are nested too deep, too large, ...
WRONG = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
    zlib.error,
)

_FORMAT = "rlfabric-checkpoint-1"
#: the version of a file that names none
_OLDER = "0.1.0 or older"


class CheckpointError(UsageError):
    """A checkpoint or a policy's file cannot be used; the message says which file, and why."""


def atomic_write(path, write):
    """Writes the file ``path``: calls ``write(file)`` with an open binary file, which then replaces
    ``path``. At any time, also after an error, ``path`` has all of the old or all of the new
    content."""
    path = user_path(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PARTIAL}")
    # Not made by tempfile: only the owner may read its files, whatever the umask is.
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with naming(path), os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path, text):
    """``atomic_write`` of a text, as UTF-8."""
    atomic_write(path, lambda file: file.write(text.encode()))


def check_exists(path, kind="training"):
    """CheckpointError unless there is a file."""
    if not Path(path).is_file():
        raise CheckpointError(f"{_noun(kind)} must be a file, not {str(path)!r} (none there)")


def _noun(kind):
    return "checkpoint" if kind == "training" else kind


def check_writable(directory):
    """Makes ``directory``, with its parents, if it is not there. ValueError unless files can be
    written in it."""
    directory = Path(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise UsageError(
            f"out must be a directory that can be written, not {str(directory)!r} "
            f"({error.strerror})"
        ) from error


def save(
    path: str | PathLike[str] | IO[bytes],
    kind: str,
    config: Mapping[str, object],
    state: Mapping[str, object],
) -> None:
    """Writes a checkpoint, which ``load`` reads; a file at ``path`` is replaced atomically.

    Parameters
    ----------
    path : path, or a binary file that is open
        Where to write.
    kind : str
        What the file is, such as ``training`` or ``policy``; ``load`` must name the same.
    config : dict
        JSON values that say to what the state belongs; ``load`` can compare them.
    state : nested dict and list of arrays and JSON values
        What ``load`` returns.
    """
    arrays = {}

    def strip(value):
        if isinstance(value, np.ndarray):
            name = f"a{len(arrays)}"
            entry = {"__array__": name}
            if value.dtype.names:  # as bytes: else NumPy leaves gaps between fields undefined
                entry["fields"] = np.lib.format.dtype_to_descr(value.dtype)
                value = value.view(f"V{value.dtype.itemsize}")
            arrays[name] = value
            return entry
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, dict):
            return {key: strip(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [strip(item) for item in value]
        return value

    tree = {"format": _FORMAT, "kind": kind, "version": version("rlfabric"), "config": config}
    tree["state"] = strip(state)
    text = np.frombuffer(json.dumps(tree).encode(), np.uint8)
    if hasattr(path, "write"):
        np.savez(path, tree=text, **arrays)
    else:
        atomic_write(path, lambda file: np.savez(file, tree=text, **arrays))


def load(
    path: str | PathLike[str] | IO[bytes], kind: str, expected: Mapping[str, object] | None = None
) -> tuple[dict[str, object], dict[str, object]]:
    """Reads ``(config, state)``, as ``save`` took them, from a path or an open binary file. Arrays
    are writable copies; tuples have become lists.

    ``expected`` is the config that must be in the file; None: any. CheckpointError if the file is
    absent, damaged, of another ``kind`` or of another config; the message names each field of the
    config that differs.
    """
    if not hasattr(path, "read"):
        path = user_path(path)
        check_exists(path, kind)
    try:
        arrays = _arrays(path)
        tree = json.loads(arrays.pop("tree").tobytes())
        if tree["format"] != _FORMAT:
            raise KeyError("format")
        found, config, state = tree["kind"], tree["config"], _join(tree["state"], arrays)
        if not (isinstance(config, dict) and isinstance(state, dict)):
            raise TypeError("config and state must be objects")
        writer = tree.get("version", _OLDER)
    except (EOFError, OSError, RuntimeError, zipfile.BadZipFile, *WRONG) as error:
        raise CheckpointError(
            f"{_noun(kind)} must be a whole file that rlfabric wrote, not {str(path)!r} "
            f"({type(error).__name__}: {error})"
        ) from error
    if found != kind:
        raise CheckpointError(f"checkpoint must be of kind {kind!r}, not {found!r} ({path})")
    if expected is not None:
        _compare(expected, config, path, writer)
    return config, state


def _arrays(path):
    """Name -> array, of a zip whose parts have no more bytes than the zip itself, since ``save``
    compresses nothing. A damaged zip raises exceptions of zipfile, zlib and NumPy."""
    with zipfile.ZipFile(path) as file:
        held = sum(info.file_size for info in file.infolist())
        size = file.fp.seek(0, os.SEEK_END)
    if held > size:
        raise CheckpointError(f"it is {size} bytes long, and holds {held}")
    if hasattr(path, "seek"):
        path.seek(0)
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


@contextmanager
def restoring(path):
    """A context manager for the code that takes the state of the checkpoint ``path``: an exception
    that a wrong state may cause there, such as KeyError, becomes CheckpointError. An RlfabricError
    is passed on as it is."""
    try:
        yield
    except RlfabricError:
        raise
    except WRONG as error:
        with np.load(path, allow_pickle=False) as file:
            writer = json.loads(file["tree"].tobytes()).get("version", _OLDER)
        raise CheckpointError(
            f"checkpoint must hold the state that this version saves, not another "
            f"({type(error).__name__}: {error}; {path}{_other_version(writer)})"
        ) from error


def _join(value, arrays):
    if isinstance(value, dict):
        if "__array__" in value:
            array = arrays[value["__array__"]]
            return array.view(_records(value["fields"])) if "fields" in value else array
        return {key: _join(item, arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [_join(item, arrays) for item in value]
    return value


def _records(fields):
    """The dtype for fields that ``dtype_to_descr`` made, and that went through JSON."""
    parts = [(name, kind, *map(tuple, shape)) for name, kind, *shape in fields]
    return np.lib.format.descr_to_dtype(parts)


def _flat(config, prefix=""):
    for key, value in config.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _compare(expected, found, path, writer):
    # Through JSON, where a tuple and a list are the same.
    mine, theirs = (dict(_flat(json.loads(json.dumps(c)))) for c in (expected, found))
    differ = [
        f"{name} must be {_shown(theirs, name)} as in the checkpoint, not {_shown(mine, name)}"
        for name in sorted(mine.keys() | theirs.keys())
        if mine.get(name, _ABSENT) != theirs.get(name, _ABSENT)
    ]
    if differ:
        raise CheckpointError(f"{'; '.join(differ)} ({path}{_other_version(writer)})")


_ABSENT = object()


def _shown(config, name):
    return repr(config[name]) if name in config else "absent"


def _other_version(writer):
    """A text about the version that wrote a file, if it is not this one."""
    own = version("rlfabric")
    return "" if writer == own else f", which rlfabric {writer} wrote, and this is {own}"
