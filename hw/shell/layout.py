"""Layouts of records: hardware struct, NumPy dtype and documentation come from the same fields.

Fields have 8 to 64 bits and are little-endian. 64-bit fields lie on multiples of 8 bytes, so that
the NumPy record and the hardware struct are the same bytes.
"""

import functools
import struct
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from amaranth import Cat, Const, Value, signed, unsigned
from amaranth.lib import data

from hw.errors import UsageError

__all__ = ["Field", "Layout"]

#: Kind -> bytes, NumPy's format, that of ``struct``, and the shape in hardware.
_KINDS = {
    "u8": (1, "u1", "B", unsigned(8)),
    "i8": (1, "i1", "b", signed(8)),
    "u16": (2, "<u2", "H", unsigned(16)),
    "u32": (4, "<u4", "I", unsigned(32)),
    "i32": (4, "<i4", "i", signed(32)),
    "u64": (8, "<u8", "Q", unsigned(64)),
    "i64": (8, "<i8", "q", signed(64)),
    "f32": (4, "<f4", "f", unsigned(32)),
}


@dataclass(frozen=True)
class Field:
    """A field of a record or command.

    Parameters
    ----------
    name, doc : str
        The field's name and what it says, for documents.
    kind : str
        u8, u16, u32, u64, i8, i32 and i64 (two's complement), or f32.
    count : int
        More than 1 makes an array.
    low, high : int or None, or a function of the kernel's config that gives one
        The smallest and the largest allowed number of a command's field, or of a checked record's
        (for a f32, their bits). None allows every number of the kind.
    error : int or None
        Of a command: the error code for a number outside these limits; None stands for
        ``ShellError.FIELD``.
    default : int or None
        Of a command: the number where a program does not give the field. None: it must be given.

    UsageError for another kind, or for a count that is no positive integer.
    """

    name: str
    kind: str
    doc: str
    count: int = 1
    low: int | Callable | None = None
    high: int | Callable | None = None
    error: int | None = None
    default: int | None = None

    def __post_init__(self):
        if self.kind not in _KINDS:
            kinds = ", ".join(_KINDS)
            raise UsageError(f"kind of {self.name} must be one of {kinds}, not {self.kind!r}")
        if isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 1:
            raise UsageError(f"count of {self.name} must be a positive integer, not {self.count!r}")

    @property
    def size(self):
        """Bytes."""
        return _KINDS[self.kind][0] * self.count

    @property
    def shape(self):
        """In hardware; a f32 is its 32-bit pattern."""
        one = _KINDS[self.kind][3]
        return data.ArrayLayout(one, self.count) if self.count > 1 else one

    @property
    def span(self):
        """``(low, high)`` of the kind, of an integer."""
        one = _KINDS[self.kind][3]
        half = 1 << one.width - 1
        return (-half, half - 1) if one.signed else (0, 2 * half - 1)

    def limits(self, config):
        """``(low, high)`` for ``config``, inclusive; each is None if only the kind limits it."""
        return tuple(limit(config) if callable(limit) else limit for limit in (self.low, self.high))


class Layout:
    """Named fields packed without gaps, padded with zeros to ``size`` bytes.

    Parameters
    ----------
    name, doc : str
        Heading and sentence of the documentation.
    fields : sequence of Field
        The fields in order.
    size : int
        Bytes of the whole; ValueError if the fields need more or one of 64 bits is not on 8 bytes.
    """

    def __init__(self, name, doc, fields, *, size):
        self.name, self.doc, self.fields, self.size = name, doc, tuple(fields), size
        self.offsets, offset = {}, 0
        for field in self.fields:
            if _KINDS[field.kind][0] == 8 and offset % 8:
                raise UsageError(f"{name}.{field.name} must be on an 8-byte offset, not {offset}")
            self.offsets[field.name] = offset
            offset += field.size
        if offset > size:
            raise UsageError(f"{name} must fit {size} bytes, not {offset}")
        self._names = tuple(self.offsets)
        self._single = all(field.count == 1 for field in self.fields)
        #: Bytes that the fields fill; those behind are padding.
        self.used = offset
        self._struct = struct.Struct(
            "<"
            + "".join(f"{field.count}{_KINDS[field.kind][2]}" for field in self.fields)
            + f"{size - offset}x"
        )

    def __repr__(self):
        return f"<Layout {self.name}>"

    @functools.cached_property
    def dtype(self):
        """Structured NumPy dtype of ``size`` bytes."""
        formats = [(_KINDS[f.kind][1], f.count) for f in self.fields]
        return np.dtype(
            {
                "names": [f.name for f in self.fields],
                "formats": [kind if count == 1 else (kind, count) for kind, count in formats],
                "offsets": [self.offsets[f.name] for f in self.fields],
                "itemsize": self.size,
            }
        )

    @property
    def shape(self):
        """Amaranth layout of ``8 * size`` bits."""
        return data.FlexibleLayout(
            8 * self.size,
            {f.name: data.Field(f.shape, 8 * self.offsets[f.name]) for f in self.fields},
        )

    def encode(self, **values):
        """The ``8 * size`` bits of a record in hardware; ``values`` are Amaranth values by field.

        A value that is too wide loses its upper bits, one that is too narrow is extended, with its
        sign if it has one; fields that are not given are 0. ValueError for a name that is no field.
        """
        words, end = [], 0
        for field in self.fields:
            start, width = 8 * self.offsets[field.name], 8 * field.size
            value = Value.cast(values.pop(field.name, 0))
            above = value[-1] if value.shape().signed else Const(0)
            words += [Const(0, start - end), value[:width]]
            words += [above.replicate(max(0, width - len(value)))]
            end = start + width
        if values:
            raise UsageError(f"field must be one of {self.name}'s, not {', '.join(values)}")
        return Cat(*words, Const(0, 8 * self.size - end))

    def pack(self, numbers):
        """The ``size`` bytes of a record; ``numbers`` are those of all fields in order, arrays one
        number after another."""
        return self._struct.pack(*numbers)

    def numbers(self, raw):
        """The tuple of all fields' numbers in order, of the record at the start of ``raw``
        (bytes): what ``pack`` was given."""
        return self._struct.unpack_from(raw)

    def unpack(self, raw):
        """``{field: value}`` of the record at the start of ``raw`` (bytes): a Python number, or a
        list of numbers for an array."""
        words, begin, values = self.numbers(raw), 0, {}
        if self._single:
            return dict(zip(self._names, words, strict=True))
        for field in self.fields:
            part = words[begin : begin + field.count]
            values[field.name] = list(part) if field.count > 1 else part[0]
            begin += field.count
        return values

    def markdown(self, config=None):
        """The record's section of the register document, with a table of the fields.

        ``config`` is the kernel's; the limits of the fields may depend on it.
        """

        def bounds(field):
            own = field.limits(config)
            if own == (None, None):
                return ""
            low, high = (s if o is None else o for o, s in zip(own, field.span, strict=True))
            if field.kind == "f32":
                low, high = (f"{number:.4g}" for number in np.array([low, high], "<u4").view("<f4"))
                return f"{low}..{high}"
            return f"{low}..{high}" if low < high else f"{low}"

        rows = "\n".join(
            f"| {self.offsets[f.name]:#04x} | `{f.name}` | {f.kind}"
            f"{f'[{f.count}]' if f.count > 1 else ''} | {bounds(f)} | {f.doc} |"
            for f in self.fields
        )
        return (
            f"### {self.name}\n\n{self.doc} {self.size} bytes.\n\n"
            f"| byte | field | type | range | meaning |\n|---|---|---|---|---|\n{rows}\n"
        )
