"""Meanings of a config's fields: the ``#:`` comments above them, or their lines in a docstring.

If a subclass declares a field again without a comment, its meaning is that in the base class. A
docstring may have ``name : text`` or ``name, name : text`` lines instead, as in the kernels'
configs; such a text goes on until an empty line or the next field.
"""

import inspect
import re
from dataclasses import fields, is_dataclass
from functools import cache

__all__ = ["meaning", "meanings"]

_FIELD = re.compile(r"    (\w+)\s*:")
_LISTED = re.compile(r"((?:\w+, )*\w+) : (.*)")


def meaning(path):
    """The meaning of the last field in ``path``, which is as ``host.settings.leaves`` gives it. If
    this field has no meaning, that of the last field before it in ``path`` that has one; "" if
    there is none."""
    texts = (meanings(kind)[name] for kind, name in reversed(path))
    return next(filter(None, texts), "")


@cache
def meanings(kind):
    """``{field: text}`` of the config class ``kind``; a field without a meaning has ""."""
    found = {}
    for each in reversed(kind.__mro__):
        if is_dataclass(each) and "__annotations__" in vars(each):
            found |= _listed(inspect.getdoc(each) or "") | _commented(_source(each))
    return {field.name: found.get(field.name, "") for field in fields(kind)}


def _source(kind):
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):  # a class that was made of a trainer's arguments
        return ""


def _commented(source):
    found, comment = {}, []
    for line in source.splitlines():
        text = line.strip()
        if text.startswith("#:"):
            comment.append(text.removeprefix("#:").strip())
            continue
        field = _FIELD.match(line)
        if field and comment:
            found[field[1]] = " ".join(comment)
        comment = []
    return found


def _listed(docstring):
    found, names = {}, ()
    for line in docstring.splitlines():
        begins = _LISTED.match(line)
        if begins:
            names = begins[1].split(", ")
            found |= dict.fromkeys(names, begins[2])
        elif names and line.strip():
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
        else:
            names = ()
    return found
