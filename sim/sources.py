"""Digests of the sources that something depends on, which is made once and kept."""

import hashlib
import re
import sys
import time
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, resolve_name
from pathlib import Path

__all__ = ["Sources", "imports", "is_below"]

_IGNORED = re.compile(r"#.*|\\\n")
_IMPORT = re.compile(r"(?:\bfrom\b([\s.\w]+?))?\bimport\b\s*(\([^)]*\)|[^\n;]*)")
#: Of this process. A file that was changed later, or shortly before, may have been imported with
#: another text.
_BEGAN = time.time() - 10.0


class Sources:
    """The modules that some modules import, directly or not, the ``__init__`` of each package on
    the way included.

    names : the modules to begin with
    followed : a function of a module's name that says whether it counts

    Attributes
    ----------
    modules : dict of str to bytes
        Module -> digest of its source; of a module that is not Python, size and date of its file.
    certain : bool
        Whether all files are older than this process, so that it has imported these texts.
    """

    def __init__(self, names, followed):
        self.modules, self.certain, ahead = {}, True, list(names)
        while ahead:
            name = ahead.pop()
            if name and name not in self.modules and followed(name):
                self.modules[name], imported, changed = _read(name)
                self.certain &= changed < _BEGAN
                ahead += [name.rpartition(".")[0], *imported]

    @property
    def digest(self):
        """A digest of ``modules``."""
        return _digest(repr(sorted(self.modules.items())).encode())


def is_below(name, packages):
    """Whether the module ``name`` is one of ``packages`` or in one."""
    return f"{name}.".startswith(tuple(f"{package}." for package in packages))


def _digest(data):
    return hashlib.sha256(data).digest()


@cache
def _read(name):
    """``(digest, imports, changed)`` of a module's source: names of modules and of their
    members, and the date of its file. All are empty or 0 if ``name`` is not a module but a name
    in a module."""
    is_name = all(part.isidentifier() for part in name.split("."))  # not ``third.*``
    spec = _spec(name) if is_name else None
    if spec is None or not spec.has_location:
        return b"", (), 0.0
    source = Path(spec.origin)
    facts = source.stat()
    if source.suffix != ".py":
        return repr((facts.st_size, facts.st_mtime_ns)).encode(), (), facts.st_mtime
    data = source.read_bytes()
    return _digest(data), tuple(imports(data.decode(), spec.parent)), facts.st_mtime


def imports(source, package):
    """Yields the names that the text ``source`` of a module in ``package`` imports.

    ``from a import b`` gives ``a.b``, which may be a module or not. Words that only look like
    imports may come too, since parsing would take ten times as long.
    """
    for module, names in _IMPORT.findall(_IGNORED.sub(" ", source)):
        above = resolve_name("".join(module.split()), package) + "." if module else ""
        for name in names.strip("()").split(","):
            yield above + name.partition(" as ")[0].strip()


@cache
def _spec(name):
    """``find_spec``, but it imports no package on the way."""
    if name in sys.modules:
        return sys.modules[name].__spec__
    package = name.rpartition(".")[0]
    if not package:
        return find_spec(name)
    places = getattr(_spec(package), "submodule_search_locations", None)
    return PathFinder.find_spec(name, places) if places else None
