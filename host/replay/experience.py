"""Experiences and lists in the card's form: records of whole granules, items, and their checks.

Actors may compute priorities of their experiences (CF'22 2.1.1; cpprb's ``add(priorities=)``).
Without a priority an experience enters with the largest priority so far.
"""

import functools
import reprlib
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from host.programs.launcher import aligned
from host.values import (
    NUMBERS,
    all_true,
    array_of,
    cast,
    check_finite,
    held,
    place_in,
    put,
    quietly,
)
from hw.errors import UsageError
from hw.replay.commands import MAX_COUNT, MAX_GRANULES, MAX_TRANSFER, Given, Opcode
from hw.replay.records import GRANULE_BYTES, ITEM

__all__ = [
    "Batch",
    "FirstPriorities",
    "Experiences",
    "Fields",
    "checked_inserts",
    "checked_items",
    "in_runs",
    "put_items",
    "put_records",
    "raw_priorities",
    "record_dtype",
    "same_words",
    "to_records",
]

#: What NumPy makes a dtype of numbers or bools of.
Number: TypeAlias = str | type[bool | int | float | np.generic] | np.dtype[np.generic]
#: Name -> (dtype, shape) of what an experience has.
Fields: TypeAlias = Mapping[str, tuple[Number, int | tuple[int, ...]]]
#: Arrays [n, ...] of every field, or of one experience, without that axis; or records [n].
Experiences: TypeAlias = Mapping[str, ArrayLike] | NDArray[np.void]
#: What is drawn: arrays [batch_size, ...] of every field, ``indexes`` and ``weights``.
Batch: TypeAlias = dict[str, NDArray[np.generic]]

#: Names that a field may not have.
_TAKEN = {
    "priorities": "an option of add",
    "td_errors": "an option of add",
    "weights": "which a batch has",
    "indexes": "which a batch has",
    "self": "which add cannot be given by name",
}


def record_dtype(fields: Fields) -> np.dtype[np.void]:
    """Structured dtype of an experience: the fields in order, padded at the end to whole granules.

    ``fields``: ``{name: (dtype, shape)}``, of numbers or bools. ValueError if there is no field, if
    a value is not such a pair, if a field is called priorities, td_errors, weights, indexes or
    self, and if the fields are larger than a record may be.
    """
    if not isinstance(fields, dict):
        raise UsageError(f"fields must be a dict of name: (dtype, shape), not {fields!r}")
    if not fields:
        raise UsageError("fields must be one or more, not none")
    for name, why in _TAKEN.items():
        if name in fields:
            raise UsageError(f"fields must not be called {name}, {why}")
    dtype = np.dtype([(name, *_field(name, value)) for name, value in fields.items()])
    size = aligned(dtype.itemsize, GRANULE_BYTES)
    if size > MAX_GRANULES * GRANULE_BYTES:
        raise UsageError(
            f"fields must be at most {MAX_GRANULES * GRANULE_BYTES} bytes together, "
            f"not {dtype.itemsize}"
        )
    return np.dtype(
        {
            "names": dtype.names,
            "formats": [dtype[n] for n in dtype.names],
            "offsets": [dtype.fields[n][1] for n in dtype.names],
            "itemsize": size,
        }
    )


def _field(name, value):
    """``(dtype, shape)`` of the field called ``name``."""
    if not isinstance(name, str) or not name:
        raise UsageError(f"fields must be called by texts, not {name!r}")
    if isinstance(value, dict):
        raise UsageError(
            f"{name} must be (dtype, shape), not a dict: give each of its parts a field of its own"
        )
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise UsageError(
            f"{name} must be (dtype, shape), such as (np.float32, (4,)), not {value!r}"
        )
    kind, shape = value
    try:
        dtype = np.dtype(kind)
    except TypeError:
        dtype = None
    if dtype is None or dtype.kind not in NUMBERS:
        raise UsageError(f"{name} must have a dtype of numbers or bools, not {kind!r}")
    sides = shape if isinstance(shape, (tuple, list)) else (shape,)
    for side in sides:
        if not isinstance(side, (int, np.integer)) or isinstance(side, bool) or side < 1:
            raise UsageError(f"{name} must have a shape of positive integers, not {shape!r}")
    return dtype, tuple(map(int, sides))


def same_words(one, other):
    """Whether records of two dtypes are the same words in memory: their fields have equal names,
    places and types of numbers, and as many numbers, whatever shape these have."""

    def words(dtype):
        places = [(name, *dtype.fields[name][:2]) for name in dtype.names]
        return dtype.itemsize, [(name, kind.base, kind.itemsize, at) for name, kind, at in places]

    return words(one) == words(other)


class _Parts(NamedTuple):
    """The fields of a record dtype: ``names`` as keys, ``dtypes`` and ``shapes``, one for each;
    ``floats``, position -> name of floats. A record is ``count`` numbers of the dtype ``element``:
    if all floats are ``alike``, and most of the record, it is theirs, or else uint8."""

    names: dict[str, None]
    dtypes: list[np.dtype]
    shapes: list[tuple]
    floats: dict[int, str]
    element: np.dtype
    count: int
    alike: bool


@functools.lru_cache(maxsize=16)
def _parts(dtype):
    names, dtypes = dict.fromkeys(dtype.names), [dtype[name].base for name in dtype.names]
    floats = {k: name for k, name in enumerate(names) if dtypes[k].kind in "fc"}
    shapes = [dtype[name].shape for name in names]
    own = {dtypes[k] for k in floats}
    element = own.pop() if len(own) == 1 else np.dtype(np.uint8)
    alike = element.kind == "f" and element.isnative and dtype.itemsize % element.itemsize == 0
    alike &= all(dtype.fields[name][1] % element.itemsize == 0 for name in floats.values())
    alike &= 2 * sum(dtype[name].itemsize for name in floats.values()) >= dtype.itemsize
    element = element if alike else np.dtype(np.uint8)
    count = dtype.itemsize // element.itemsize
    return _Parts(names, dtypes, shapes, floats, element, count, alike)


def to_records(experiences, dtype):
    """The experiences as records, a structured array [n] of ``dtype``.

    ``experiences`` is a dict with an array [n, ...] for each field of ``dtype``, or, for one
    experience, with an array [...] for each field; n is then 1. Records [n] of ``dtype`` are
    returned as they are. UsageError for a field that is missing, unknown or misshapen, for a number
    that a field's type does not hold (``host.values``), and for records of another dtype.
    """
    parts = _parts(dtype)
    if isinstance(experiences, np.ndarray):
        if experiences.dtype != dtype or experiences.ndim != 1:
            raise UsageError(
                f"experiences must be records [n] of {dtype}, "
                f"not {list(experiences.shape)} of {experiences.dtype}"
            )
        records = experiences
        if not records.flags.c_contiguous:  # as bytes, padding between fields included
            records = records.view(f"V{dtype.itemsize}").copy().view(dtype)
        _check_floats(parts, records.view(parts.element), records)
        return records
    names, shapes = parts.names, parts.shapes
    if experiences.keys() != names.keys():
        for name in experiences:
            if name not in names:
                raise UsageError(f"{name} must be one of {', '.join(names)}, not unknown")
        missing = next(name for name in names if name not in experiences)
        raise UsageError(f"{missing} must be given, not missing")
    arrays = [
        given if type(given := experiences[name]) is np.ndarray else array_of(name, given)
        for name in names
    ]
    found = [values.shape for values in arrays]
    one = found == shapes
    count = 1 if one else (found[0] or (0,))[0]
    if not one and found != (wanted := [(count, *shape) for shape in shapes]):
        for name, values in zip(names, arrays, strict=True):
            if values.dtype.kind not in NUMBERS:
                given = reprlib.repr(experiences[name])
                raise UsageError(f"{name} must be an array of numbers, not {given}")
        name, one, own = next(x for x in zip(names, found, wanted, strict=True) if x[1] != x[2])
        raise UsageError(
            f"{name} must have shape {own}, not {one}: every field has a first axis of n "
            "experiences, or, of one alone, none has"
        )
    elements = np.zeros(count * parts.count, parts.element)
    records = elements.view(dtype)
    quietly(_write, parts, records, arrays)
    _check_floats(parts, elements, records, arrays)
    return records


def _write(parts, records, arrays):
    """Writes ``arrays``, one for each field, to ``records``; floats are checked later."""
    for name, own, values in zip(parts.names, parts.dtypes, arrays, strict=True):
        given = values.dtype
        if given is own or given.kind == own.kind == "f" or given == own:
            records[name] = values
        else:
            put(name, records[name], values)


def _check_floats(parts, elements, records, arrays=None):
    """UsageError if a float of ``records``, whose bytes are ``elements``, is infinite or NaN;
    ``arrays`` has all fields as they were before they were cast, if they were."""
    if parts.alike and all_true(np.isfinite(elements)):
        return  # in one pass; if an integer looks like a NaN, the floats follow
    for position, name in parts.floats.items():
        check_finite(name, records[name], arrays[position] if arrays else records[name])


def checked_items(fill, name, indexes, values):
    """``(indexes, values)`` as arrays, indexes of uint32 as the card has them.

    UsageError unless both are one-dimensional and of one length, and the indexes are integers in
    0..fill-1. ``name`` stands for ``values`` in the error's text.
    """
    indexes, values = array_of("indexes", indexes), array_of(name, values)
    if not indexes.size:  # an empty list has no integers to show
        indexes = indexes.astype(np.uint32)
    if indexes.ndim != 1 or not np.issubdtype(indexes.dtype, np.integer):
        raise UsageError(
            f"indexes must be a list of integers, not {indexes.dtype} of shape {indexes.shape}"
        )
    if values.shape != indexes.shape:
        raise UsageError(f"{name} must have shape {indexes.shape}, not {values.shape}")
    if len(indexes) and not (0 <= indexes.min() and indexes.max() < fill):
        raise UsageError(
            f"indexes must be in 0..{fill - 1} (what is stored), "
            f"not {int(indexes.min())}..{int(indexes.max())}"
        )
    return indexes.astype(np.uint32), values


def put_items(program, operands, offset, opcode, indexes, values, **command):
    """Appends to the lists ``program`` and ``operands`` what processes a list of items.

    An item is one of ``indexes`` with its number of ``values``, both uint32 arrays of one length.
    ``program`` gets commands of ``opcode``, each for at most MAX_COUNT items; ``operands`` gets the
    items' bytes, from ``offset`` on. ``command`` has further fields of every command. Returns the
    next free offset, on a beat.
    """
    for begin in range(0, len(indexes), MAX_COUNT):
        part = slice(begin, begin + MAX_COUNT)
        items = np.zeros(len(indexes[part]), ITEM.dtype)
        items["index"], items["value"] = indexes[part], values[part]
        program.append((opcode, {"count": len(items), "source": offset, **command}))
        operands.append((offset, items.view(np.uint8)))
        offset = aligned(offset + items.nbytes)
    return offset


def in_runs(records, runs):
    """The bytes of ``records``, divided into ``runs`` runs of as many records each: uint8 [runs,
    bytes]. Every run is padded with zeros to whole beats."""
    size = records.nbytes // runs
    blocks = np.zeros((runs, aligned(size)), np.uint8)
    blocks[:, :size] = records.view(np.uint8).reshape(runs, size)
    return blocks


def put_records(program, operands, offset, records, first_priorities=None):
    """Appends to the list ``program`` the INSERT commands for ``records``, and to ``operands`` the
    records, from ``offset`` on. Each command takes as many records as it may; its records are
    followed by their part of ``first_priorities``, if it is given."""
    limit = min(MAX_COUNT, MAX_TRANSFER // (records.dtype.itemsize // GRANULE_BYTES))
    for begin in range(0, len(records), limit):
        part = records[begin : begin + limit]
        command = {"count": len(part), "source": offset}
        program.append((Opcode.INSERT, command))
        operands.append((offset, part.view(np.uint8)))
        offset = aligned(offset + part.nbytes)
        if first_priorities is not None:
            command |= first_priorities.part(begin, begin + limit).put(operands, offset)
            offset += operands[-1][1].nbytes


def raw_priorities(replay, values):
    """The array ``values`` rounded half up to the priority format of ``replay``, a ReplayConfig:
    uint32. UsageError for a value that is negative, not finite or above the format's largest
    number."""
    highest = replay.priority_limit / (1 << replay.priority_fraction)
    values = cast("priorities", values, np.float64)
    right = np.isfinite(values) & (values >= 0) & (values <= highest)
    if not all_true(right):
        place, at = place_in(values.shape, right)
        raise UsageError(
            f"priorities must be finite and in 0..{highest:g}, not {values[place]}{at}"
        )
    raw = np.floor(values * (1 << replay.priority_fraction) + 0.5)
    return np.minimum(raw, replay.priority_limit).astype(np.uint32)


class FirstPriorities(NamedTuple):
    """The priorities with which n experiences enter the memory.

    ``values`` is uint32 [n], raw priorities or the bits of TD errors in binary32. ``fields`` has
    those fields of the command that say which of the two they are, and alpha and epsilon.
    """

    values: np.ndarray
    fields: dict

    @property
    def error_count(self):
        """Number of TD errors among ``values``: all or none."""
        return len(self.values) if self.fields["given"] == Given.TD_ERRORS.value else 0

    def part(self, begin, end):
        return self._replace(values=self.values[begin:end])

    def put(self, operands, offset, runs=1):
        """Appends the list of priorities to ``operands``, at ``offset``, and returns the fields of
        the command that reads it. The list is divided into ``runs`` equal runs, each of which
        begins at a multiple of 64 bytes."""
        items = np.zeros(len(self.values), ITEM.dtype)
        items["value"] = self.values
        operands.append((offset, in_runs(items, runs)))
        return {**self.fields, "priorities": offset}

    @classmethod
    def of(cls, count, replay, *, priorities, td_errors, **power):
        """The priorities of ``count`` experiences, from ``priorities`` or from ``td_errors``, one
        of which is None.

        ``replay`` is the ReplayConfig, ``power`` alpha and epsilon as the card counts them.
        ValueError if both lists are given, if a list has not ``count`` numbers, and for a number
        that is not finite, or a priority that the card's format does not hold.
        """
        if priorities is not None and td_errors is not None:
            raise UsageError("priorities must not be given together with td_errors")
        name, given = ("td_errors", td_errors) if priorities is None else ("priorities", priorities)
        given = array_of(name, given)
        if count == 1 and given.shape == ():  # of one experience, which has no axis either
            given = given[None]
        if given.shape != (count,):
            raise UsageError(f"{name} must have shape ({count},), not {given.shape}")
        if priorities is None:
            bits = np.ascontiguousarray(held(name, given, np.float32)).view(np.uint32)
            return cls(bits, {"given": Given.TD_ERRORS.value, **power})
        return cls(raw_priorities(replay, given), {"given": Given.PRIORITIES.value})


def checked_inserts(inserts, total, count, *, capacity, granules):
    """How many experiences each of ``count`` iterations stores: ``inserts``, or, if it is None,
    ``total // count``.

    ``total`` is the number of experiences that there are, ``granules`` the size of one. ValueError
    if the iterations would store more than there are, or if one would store more than a memory of
    ``capacity`` records, or a command, takes at once.
    """
    if inserts is None:
        inserts = total // count
    if not isinstance(inserts, (int, np.integer)) or not 0 <= inserts * count <= total:
        raise UsageError(
            f"inserts must be an integer in 0..{total // count} (of {total} experiences for "
            f"{count} iterations), not {inserts!r}"
        )
    limit = min(capacity, MAX_COUNT, MAX_TRANSFER // granules)
    if inserts > limit:
        raise UsageError(f"inserts must be at most {limit}, not {inserts}")
    return int(inserts)
