"""What the fields of a config mean: the ``#:`` comments above them, or their lines in a docstring.

A comment stands above its field; a field without one that a base class has too means what it means
there. A docstring may have ``name : text`` or ``name, name : text`` lines instead, as the kernels'
configs do.
"""

import inspect
import re
from dataclasses import fields, is_dataclass
from functools import cache

__all__ = ["meaning", "meanings"]

_FIELD = re.compile(r"    (\w+)\s*:")
_LISTED = re.compile(r"((?:\w+, )*\w+) : (.*)")


def meaning(path):
    """Of the field at the end of a ``path`` of ``host.settings.leaves``; where nothing is said of
    it, of the config that it is in."""
    texts = (meanings(kind)[name] for kind, name in reversed(path))
    return next(filter(None, texts), "")


@cache
def meanings(kind):
    """``{field: text}`` of the config class ``kind``; a field of which nothing is said has ""."""
    found = {}
    for each in reversed(kind.__mro__):
        if is_dataclass(each) and "__annotations__" in vars(each):
            found |= _listed(inspect.getdoc(each) or "") | _commented(inspect.getsource(each))
    return {field.name: found.get(field.name, "") for field in fields(kind)}


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
        elif names and line.startswith(" "):
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
        else:
            names = ()
    return found
