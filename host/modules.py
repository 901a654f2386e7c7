"""Modules that a user names: of environments, and of algorithms of his own.

To import one is to run its code. So what a file names is imported only if its user named it too.
The current folder is on the path only while such a module is imported, so that no other import can
take a file that happens to lie there.
"""

import importlib
import os
import sys
from contextlib import contextmanager, suppress

from hw.errors import UsageError

__all__ = ["check_trusted", "current_folder", "import_named"]


def check_trusted(name, modules, file, what="environment"):
    """UsageError where ``name``, which stands in ``file``, is ``MODULE:...`` of a module that is
    not one of ``modules``."""
    module = name.rpartition(":")[0]
    if module and module not in modules:
        raise UsageError(
            f"--import must name {module}, of which {file} has its {what} {name!r}: that "
            "module's code would run"
        )


@contextmanager
def current_folder():
    """The current folder is the last place where modules are looked for."""
    folder = os.getcwd()
    if folder in sys.path:
        yield
        return
    sys.path.append(folder)
    try:
        yield
    finally:
        with suppress(ValueError):  # what was imported may have changed the path
            sys.path.remove(folder)


def import_named(module, field, name):
    """The module that ``name``, the value of ``field``, begins with, which may lie in the current
    folder. UsageError if there is none; what importing it raises comes through."""
    rule = f"{field} must name a module that can be imported, not {name!r}"
    if not all(part.isidentifier() for part in module.split(".")):
        raise UsageError(f"{rule} ({module!r} is no name of one)")
    try:
        with current_folder():
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, and what it imports is not
        raise UsageError(f"{rule} ({error})") from error
