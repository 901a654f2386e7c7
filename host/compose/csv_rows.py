"""Reads a CSV file whose columns are the fields of a dataclass; errors name the file and line."""

import csv
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import get_args

from hw.errors import UsageError
from system.disk import user_path

__all__ = ["TEXT", "Text", "known", "located", "read_rows"]


@dataclass(frozen=True)
class Text:
    """A rule: a text that is not empty, in one line, without control characters."""

    def check(self, name, value):
        if not isinstance(value, str) or not value or not value.isprintable():
            raise UsageError(f"{name} must be a text, not {value!r}")

    def __str__(self):
        return "a text"


TEXT = Text()


def known(row, name, whose):
    """The value of field ``name`` of ``row``; UsageError if it is None. ``whose`` : the row, in the
    error's text."""
    value = getattr(row, name)
    if value is None:
        raise UsageError(f"{name} must be known for {whose}, not empty")
    return value


@contextmanager
def located(place):
    """A UsageError in the block gets ``place``, such as ``devices.csv line 3``, at its end."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{error} ({place})") from error


def read_rows(path, kind, check):
    """The rows of a CSV file, as a tuple of objects of the dataclass ``kind``.

    The first row names the columns: the fields of ``kind``, in any order. An empty cell is None,
    if the field's type allows it. Blank lines count as no rows. The text is UTF-8, with or without
    a byte order mark.

    Parameters
    ----------
    path : path
    kind : class
        A dataclass whose annotations are ``Annotated[type, rule]``, where ``type`` is str, int or
        float, or one of them or None.
    check : callable
        ``check(row, before)``, with the rows before this one, raises UsageError if they do not go
        together.

    UsageError for whatever is wrong; it names the file and the line.
    """
    path = user_path(path)
    names, found = None, []
    for line, cells in _lines(path):
        with located(f"{path.name} line {line}"):
            if names is None:
                names = _columns(cells, [field.name for field in fields(kind)])
                continue
            if len(cells) != len(names):
                raise UsageError(f"cells must be {len(names)}, as columns, not {len(cells)}")
            texts = dict(zip(names, cells, strict=True))
            row = kind(**{f.name: _value(f.name, f.type, texts[f.name]) for f in fields(kind)})
            check(row, found)
            found.append(row)
    if names is None:
        raise UsageError(f"columns must be those of the first line, not absent ({path.name})")
    return tuple(found)


def _lines(path):
    """``(line, cells)`` of every line with a text."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            for cells in _parsed(reader, path.name):
                cells = [cell.strip() for cell in cells]
                if any(cells):
                    yield reader.line_num, cells
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{path.name} must be a file of CSV, not unreadable: {why}") from error


def _parsed(reader, name):
    """The lines of ``reader``; UsageError for one that is not CSV."""
    try:
        yield from reader
    except csv.Error as error:
        with located(f"{name} line {reader.line_num}"):
            raise UsageError(f"cells must be CSV, not unreadable: {error}") from error


def _columns(cells, names):
    if sorted(cells) != sorted(names):
        raise UsageError(f"columns must be {', '.join(names)}, not {', '.join(cells)}")
    return cells


def _value(name, annotation, text):
    """``text`` as a value of the type in ``annotation``."""
    types = get_args(get_args(annotation)[0]) or (get_args(annotation)[0],)
    if not text:
        if type(None) not in types:
            raise UsageError(f"{name} must be given, not empty")
        return None
    for kind, noun in ((int, "an integer"), (float, "a number")):
        if kind in types:
            try:
                return kind(text)
            except ValueError:
                raise UsageError(f"{name} must be {noun}, not {text!r}") from None
    return text
