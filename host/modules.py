"""Modules that a user names, for environments and for the user's own algorithms.

Importing a module runs its code. So a module that a file names is imported only if the user named
it too. The current folder, or the folder of an imported file, is on the path only meanwhile, so
that no other import can take a file of this folder by accident.
"""

import importlib
import importlib.util
import os
import sys
import traceback
from contextlib import contextmanager, suppress
from pathlib import Path

from hw.errors import UsageError

__all__ = ["check_trusted", "current_folder", "import_file", "import_named"]


def check_trusted(name, modules, file, what="environment"):
    """UsageError if ``name``, which is written in ``file``, is ``MODULE:...`` and MODULE is not one
    of ``modules``, a sequence of names or one name. ``what`` says in the error's text what ``name``
    is the name of."""
    module = name.rpartition(":")[0]
    if module and module not in ([modules] if isinstance(modules, str) else modules):
        raise UsageError(
            f"--import must name {module}: {file} has the {what} {name!r}, which would run this "
            "module's code"
        )


def current_folder():
    """A context manager: within the block Python also searches modules in the current folder, after
    all other places."""
    return _searched(os.getcwd())


@contextmanager
def _searched(folder):
    if folder in sys.path:
        yield
        return
    sys.path.append(folder)
    try:
        yield
    finally:
        with suppress(ValueError):  # the imported module may have changed the path
            sys.path.remove(folder)


def import_named(module, field, name):
    """Imports and returns the module called ``module``, which may be in the current folder.
    UsageError if there is no such module; its text has ``name``, which begins with the module's
    name, as the value of ``field``. An exception of the module's own code is not caught."""
    rule = f"{field} must name a module that can be imported, not {name!r}"
    if not all(part.isidentifier() for part in module.split(".")):
        raise UsageError(f"{rule} ({module!r} is not the name of a module)")
    try:
        with current_folder():
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, but not a module that it imports
        raise UsageError(f"{rule} ({error})") from error


def import_file(path, field, name):
    """Imports the Python file ``path`` and returns its module; a file that was imported before is
    not imported again. Its code may import its neighbours. UsageError if there is no such file, and
    with the last line of the error if its code fails; the texts have ``name`` as the value of
    ``field``."""
    file = Path(path).resolve()
    if not file.is_file():
        raise UsageError(f"{field} must name a file that is there, not {name!r}")
    module = str(file)
    if module in sys.modules:
        return sys.modules[module]
    spec = importlib.util.spec_from_file_location(module, file)
    found = sys.modules[module] = importlib.util.module_from_spec(spec)
    try:
        with _searched(str(file.parent)):
            spec.loader.exec_module(found)
    except (Exception, SystemExit) as error:  # whatever the file's code raises
        del sys.modules[module]
        line = traceback.format_exception_only(error)[-1].strip()
        raise UsageError(
            f"{field} must name a file that can be imported, not {name!r} ({line})"
        ) from error
    return found
