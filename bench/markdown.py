"""Cells, numbers and rows of the Markdown tables in documents."""

__all__ = ["grouped", "line", "shown"]


def grouped(count):
    """A whole number in groups of three digits: 120 000."""
    return f"{count:,}".replace(",", " ")


def shown(value):
    """The text of a table's cell: nothing for None; whole numbers from 10 000 on in groups of three
    digits."""
    if value is None or isinstance(value, str):
        return value or ""
    if value == int(value):
        value = int(value)
        return grouped(value) if abs(value) >= 10_000 else str(value)
    return str(value)


def line(cells):
    """A line of a table."""
    return f"| {' | '.join(map(shown, cells))} |"
