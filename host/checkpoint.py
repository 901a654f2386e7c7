"""Checkpoints: nested state in one file that is either whole or absent.

A zip (NumPy's npz) of one JSON tree and the arrays that it names; no pickle, so reading a file from
a stranger runs nothing. Written beside the target, flushed, then renamed over it.
"""

import json
import os
import tempfile
import zipfile
import zlib
from pathlib import Path

import numpy as np

__all__ = ["CheckpointError", "atomic_write", "check_writable", "load", "save"]

_FORMAT = "rlfabric-checkpoint-1"


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; the message says which and why."""


def atomic_write(path, write):
    """Call ``write(binary file)`` so that ``path`` is the old or the new content, never a part."""
    path = Path(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def check_writable(directory):
    """Make the directory; ValueError unless files can be written in it."""
    directory = Path(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise ValueError(
            f"out must be a directory that can be written, not {str(directory)!r} "
            f"({error.strerror})"
        ) from error


def save(path, kind, config, state):
    """Write ``state`` atomically.

    Parameters
    ----------
    path : path
    kind : str
        What the file is (``training``, ``policy``).
    config : dict
        JSON values; ``load`` compares them.
    state : nested dict and list of arrays and JSON values
    """
    arrays = {}

    def strip(value):
        if isinstance(value, np.ndarray):
            name = f"a{len(arrays)}"
            arrays[name] = value
            return {"__array__": name}
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, dict):
            return {key: strip(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [strip(item) for item in value]
        return value

    tree = {"format": _FORMAT, "kind": kind, "config": config, "state": strip(state)}
    text = np.frombuffer(json.dumps(tree).encode(), np.uint8)
    atomic_write(path, lambda file: np.savez(file, tree=text, **arrays))


def load(path, kind, expected=None):
    """Read ``(config, state)``; arrays are writable copies.

    ``expected`` is the config that must have been saved with it. CheckpointError if the file is
    absent, damaged, of another kind or of another config (naming each field that differs).
    """
    path = Path(path)
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        tree = json.loads(arrays.pop("tree").tobytes())
        if tree["format"] != _FORMAT:
            raise KeyError("format")
        found, config, state = tree["kind"], tree["config"], _join(tree["state"], arrays)
    except FileNotFoundError as error:
        raise CheckpointError(
            f"checkpoint must be a file, not {str(path)!r} (none there)"
        ) from error
    except (
        OSError,
        ValueError,
        KeyError,
        EOFError,
        TypeError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise CheckpointError(
            f"checkpoint must be a whole file that rlfabric wrote, not {str(path)!r} "
            f"({type(error).__name__}: {error})"
        ) from error
    if found != kind:
        raise CheckpointError(f"checkpoint must be of kind {kind!r}, not {found!r} ({path})")
    if expected is not None:
        _compare(expected, config, path)
    return config, state


def _join(value, arrays):
    if isinstance(value, dict):
        if value.keys() == {"__array__"}:
            return arrays[value["__array__"]]
        return {key: _join(item, arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [_join(item, arrays) for item in value]
    return value


def _flat(config, prefix=""):
    for key, value in config.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _compare(expected, found, path):
    # Through JSON, where a tuple and a list are the same.
    mine, theirs = (dict(_flat(json.loads(json.dumps(c)))) for c in (expected, found))
    differ = [
        f"{name} must be {theirs.get(name)!r} as in the checkpoint, not {mine.get(name)!r}"
        for name in sorted(mine.keys() | theirs.keys())
        if mine.get(name) != theirs.get(name)
    ]
    if differ:
        raise CheckpointError(f"{'; '.join(differ)} ({path})")
