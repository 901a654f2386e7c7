"""A counterexample's VCD as a table that can be read: a line a signal, a column a clock."""

import re

from vcd.reader import TokenKind, tokenize

__all__ = ["table"]

#: The tool's own, and names that Amaranth made up.
_OTHERS = re.compile(r"smt_|clk$|_witness_|.*\$")


def table(path):
    """The signals of the top itself, ports first, and their values in hexadecimal."""
    with open(path, "rb") as file:
        clocks, names = _read(tokenize(file))
    if not clocks:
        return "(an empty trace)"
    rows = {name: [_hexadecimal(clock.get(code)) for clock in clocks] for code, name in names}
    wide = max(len(value) for values in rows.values() for value in values)
    left = max(map(len, rows))
    head = [f"{'clock':{left}}", *(f"{number:{wide}}" for number in range(len(clocks)))]
    lines = [" ".join(head)]
    for name, values in rows.items():
        lines.append(" ".join([f"{name:{left}}", *(f"{value:>{wide}}" for value in values)]))
    return "\n".join(lines)


def _read(tokens):
    """Values by code just before each time step, and ``(code, name)`` of the top's signals."""
    names, scope, now, clocks, step = [], 0, {}, [], None
    for token in tokens:
        if token.kind is TokenKind.SCOPE:
            scope += 1
        elif token.kind is TokenKind.UPSCOPE:
            scope -= 1
        elif token.kind is TokenKind.VAR and scope == 1 and not _OTHERS.match(token.var.reference):
            names.append((token.var.id_code, token.var.reference))
        elif token.kind is TokenKind.CHANGE_TIME:
            if step is not None and step % 10 == 0:
                clocks.append(dict(now))
            step = token.time_change
        elif token.kind in (TokenKind.CHANGE_SCALAR, TokenKind.CHANGE_VECTOR):
            now[token.data.id_code] = token.data.value
    return clocks, names


def _hexadecimal(value):
    if value is None or isinstance(value, str):
        return str(value or "-")
    return f"{int(value):x}"
