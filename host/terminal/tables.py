"""Tables for a terminal: a cell breaks between words and after commas, never inside a word."""

import re
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

__all__ = ["Fitted", "console", "fitted", "table"]

#: A piece of a text that stays in one line, with the blanks before it: a word, a part of a list, a
#: folder of a path.
_PIECE = re.compile(r"(\s*)([^\s,/]*[,/]+|[^\s,/]+)")
#: Paddings of a cell as rich has them: above, right, below, left. The second one is for tables with
#: many columns.
_PADDINGS = (0, 1, 0, 1), (0, 1, 0, 0)


class Fitted(NamedTuple):
    """Texts of a table with line breaks, and the ``padding`` of its cells. ``whole``: cells of the
    first column must not be wrapped, however narrow the terminal is."""

    heads: list
    rows: list
    padding: tuple
    whole: bool


def fitted(heads, rows, width):
    """The texts ``heads`` and ``rows`` as a Fitted, so that the table takes at most ``width``
    columns of the terminal, if no word is longer than that allows.

    The widest columns become narrower first, down to their longest word. Cells of the first column
    are names to be copied: they stay whole if each takes at most half of ``width``.
    """
    table = [["" if cell is None else str(cell) for cell in row] for row in (heads, *rows)]
    columns = [list(column) for column in zip(*table, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    least = [max(map(_longest, column)) for column in columns]
    whole = 2 * widths[0] <= width
    if whole:
        least[0] = widths[0]
    for padding in _PADDINGS:
        _, right, _, left = padding
        room = width - 1 - (1 + right + left) * len(columns)  # a border each, and the last one
        if sum(least) <= room:
            break
    while sum(widths) > room and widths != least:
        _, widest = max((w, k) for k, w in enumerate(widths) if w > least[k])
        widths[widest] -= 1
    broken = [[_broken(cell, wide) for cell in column]
              for column, wide in zip(columns, widths, strict=True)]  # fmt: skip
    heads, *rows = map(list, zip(*broken, strict=True))
    return Fitted(heads, rows, padding, whole)


def _longest(text):
    """Columns of the longest piece; the first one has the text's indentation."""
    pieces = _PIECE.findall(text)
    indent = len(pieces[0][0]) if pieces else 0
    return max(
        (len(piece) + (0 if k else indent) for k, (_, piece) in enumerate(pieces)), default=0
    )


def _broken(text, width):
    """``text`` in lines of at most ``width`` columns."""
    if len(text) <= width:
        return text
    lines = [""]
    for place, (blank, piece) in enumerate(_PIECE.findall(text)):
        if not place or len(lines[-1] + blank + piece) <= width:
            lines[-1] += blank + piece
        else:
            lines.append(piece)
    return "\n".join(lines)


console = Console()


def table(title, heads, rows):
    """Prints a table with a ``title``, the column names ``heads`` and ``rows`` of cells; None is an
    empty cell. On a narrow console texts break between words (``fitted``), and are never cut."""
    heads, rows, padding, whole = fitted(heads, rows, console.width)
    # A word that is longer than the console is folded.
    columns = [Column(head, overflow="fold") for head in heads]
    columns[0].no_wrap = whole
    shown = Table(*columns, title=title, title_justify="left", padding=padding)
    for row in rows:
        shown.add_row(*map(escape, row))
    console.print(shown)
