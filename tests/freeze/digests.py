"""Digests of what must not change, and their comparison with those that were written before.

A collector gives ``{entry: value}``. A value is a text, bytes, a number, an array, or a ``Near``:
an array that depends on the processor. The digest of a value is 12 hex digits of SHA-256, for an
array of its dtype, shape and bytes. The digest of a ``Near`` is a list of numbers, which are
compared by tolerance.
"""

import hashlib
import json
import zlib
from dataclasses import dataclass

import numpy as np

__all__ = ["Near", "compare", "digest", "flat", "same"]

#: Relative tolerance of a number that depends on the order of a library's sums.
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Near:
    """An array, or a number, whose last bits depend on the processor: results of torch and BLAS."""

    value: object


def digest(value):
    """The digest of a value: a hex string, or of a ``Near`` the list ``[kind, rms, projection,
    projection]``, where kind is dtype and shape, and a projection is the mean of the numbers with
    fixed random signs. Numbers that are not finite count as 0, and kind tells them apart."""
    if isinstance(value, Near):
        array = np.asarray(value.value)
        numbers = array.astype(np.float64).ravel()
        signs = np.random.Generator(np.random.SFC64(zlib.crc32(str(array.shape).encode())))
        size, finite = max(len(numbers), 1), np.where(np.isfinite(numbers), numbers, 0)
        kind = _kind(array)
        if not np.isfinite(numbers).all():  # which are what, and where
            classes = np.select([np.isnan(numbers), np.isinf(numbers)], [2, np.sign(numbers)])
            kind += f" not finite {hashlib.sha256(classes.astype(np.int8)).hexdigest()[:12]}"
        projections = [
            float(finite @ signs.choice([-1.0, 1.0], len(numbers))) / size for _ in range(2)
        ]
        rms = float(np.sqrt(finite @ finite / size))
        return [kind, *(float(f"{x:.6g}") for x in (rms, *projections))]
    if isinstance(value, np.ndarray | np.generic):
        data = _kind(value).encode() + np.ascontiguousarray(value).tobytes()
    else:
        data = value if isinstance(value, bytes) else repr(value).encode()
    return hashlib.sha256(data).hexdigest()[:12]


def _kind(array):
    dtype = array.dtype
    return f"{json.dumps(dtype.descr) if dtype.names else dtype.str}{list(array.shape)}"


def same(one, other):
    """Whether two digests are of equal values, or of values that are near each other."""
    if isinstance(one, list) and isinstance(other, list):
        within = _TOLERANCE * max(one[1], other[1]) + 1e-9
        return one[0] == other[0] and all(
            abs(a - b) <= within for a, b in zip(one[1:], other[1:], strict=True)
        )
    return one == other


def compare(before, now):
    """Yields ``(entry, "added" | "removed" | "changed")`` for each difference of two dicts of
    digests, in the order of the names."""
    for name in sorted(before.keys() | now.keys()):
        if name not in before:
            yield name, "added"
        elif name not in now:
            yield name, "removed"
        elif not same(before[name], now[name]):
            yield name, "changed"


def flat(value, name=""):
    """Yields ``(dotted name, leaf)`` of nested dicts and lists. What is empty is a leaf, and so is
    a list without arrays, dicts and lists in it."""
    nested = isinstance(value, dict) or (
        isinstance(value, list | tuple)
        and any(isinstance(item, dict | list | tuple | np.ndarray) for item in value)
    )
    if nested and value:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in pairs:
            yield from flat(item, f"{name}.{key}" if name else str(key))
    else:
        yield name, value
