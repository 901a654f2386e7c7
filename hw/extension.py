"""What installed packages add to ours: algorithms, designs, twins and boards, by entry points.

A package names its objects in its ``pyproject.toml``. The outermost module on the path to an object
says for which version of this API it was written:

    [project.entry-points."rlfabric.designs"]
    clip = "my_package.clip:DESIGN"

    RLFABRIC_API = 1

Nothing is imported before somebody asks for the name, or for all names. An object that cannot be
used is left out, with one warning of one line; everything else works.
"""

import importlib
import re
import warnings
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from importlib.metadata import entry_points

from hw.errors import UsageError

__all__ = ["API", "LazyEntry", "Registry"]

#: It grows when a package that was written as ``docs/adding_*.md`` said would no longer work.
API = 1

#: In files, in Verilog and on the command line.
_NAME = re.compile("[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class LazyEntry:
    """An object of this package that a Registry imports when it is asked for, and what a list shows
    of it before: attributes of the object, which the object takes from the same place.

    load : callable
        Imports and returns the object.
    summary : str
        One line about it.
    presets : tuple of str
        Names of an algorithm's presets.
    """

    load: Callable
    summary: str
    presets: tuple = ()


class Registry(MutableMapping):
    """A mapping ``{name: object}``: first this package's objects, then those of installed packages.

    An entry point with a name of ``ours`` is left out. If two packages have an entry point of the
    same name, the object of the package whose own name is first in the alphabet is used, or the
    other's if it cannot be used. Each entry point that is left out gives one RuntimeWarning. An
    object is imported when its name is asked for, or when all names are.

    Parameters
    ----------
    group : str
        The group of the entry points. If objects of ``kind`` have an attribute ``name``, it must
        equal the entry point's name.
    kind : type or callable
        The type that every object must have; ``type`` stands for any class. A function that imports
        and returns the type, if a list of names shall not need it.
    ours : dict
        ``{name: object}`` of this package. A ``LazyEntry`` stands for an object that is imported
        when its name is asked for.

    Attributes
    ----------
    modules : dict
        ``{name: module}`` of the other packages' objects that have been imported so far.
    """

    def __init__(self, group, kind, ours):
        self.group, self.modules = group, {}
        self._kind, self._found = kind, dict(ours)
        self._ahead = None  # name -> its entry points, of names that nobody has asked for

    def __getitem__(self, name):
        self._ask(name)
        found = self._found[name]
        if isinstance(found, LazyEntry):
            found = self._found[name] = found.load()
        return found

    def __setitem__(self, name, value):
        self._found[name] = value

    def __delitem__(self, name):
        del self._found[name]

    def __iter__(self):
        for name in sorted(self._entries()):
            self._ask(name)
        return iter(self._found)

    def __len__(self):
        return len(list(iter(self)))

    def listed(self):
        """``{name: object}``, with a ``LazyEntry`` for each of ours that nobody has asked for."""
        return {name: self._found[name] for name in self}

    def _entries(self):
        """``_ahead``, read when it is first needed."""
        if self._ahead is None:
            self._ahead = {}
            for entry in sorted(entry_points(group=self.group), key=_package):
                self._ahead.setdefault(entry.name, []).append(entry)
        return self._ahead

    def _ask(self, name):
        """Import what the packages have by this name, the first time."""
        for entry in self._entries().pop(name, ()):
            try:
                if name in self._found:
                    owner = self.modules.get(name, "rlfabric")
                    raise UsageError(f"{owner} has one of this name")
                self._found[name] = self._loaded(entry)
                self.modules[name] = entry.module
            except (Exception, SystemExit) as error:  # whatever a module of somebody else raises
                self._leave_out(entry, error)

    def _leave_out(self, entry, error):
        said = " ".join(str(error).split())
        why = said if type(error) is UsageError else f"{type(error).__name__}: {said}"
        what = f"{entry.name} = {entry.value} ({self.group}) of {_package(entry)}"
        warnings.warn(f"{what} is left out: {why}", RuntimeWarning, stacklevel=4)

    def _loaded(self, entry):
        """The object that ``entry`` names; UsageError if it cannot be used."""
        if not _NAME.fullmatch(entry.name):
            raise UsageError(f"its name must be {_NAME.pattern}, not {entry.name!r}")
        _check_api(entry.module)
        found = entry.load()
        if not isinstance(self._kind, type):
            self._kind = self._kind()
        if not isinstance(found, self._kind):
            kind = "class" if self._kind is type else self._kind.__name__
            raise UsageError(f"it must be a {kind}, not {found!r}")
        own = entry.name if self._kind is type else found.name
        if own != entry.name:
            raise UsageError(f"its name must be {own!r}, as the object's, not {entry.name!r}")
        return found


def _package(entry):
    """Name and version of the package that has the entry point."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "a package"


def _check_api(module):
    """UsageError unless ``module``, or a package that it is in, says that it is for our API.

    The outermost module is checked first; modules inside it are not imported if it is of another
    API.
    """
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        api = getattr(importlib.import_module(".".join(parts[:end])), "RLFABRIC_API", None)
        if api is not None:
            break
    if api != API:
        raise UsageError(f"RLFABRIC_API of {module} must be {API}, not {api!r}")
