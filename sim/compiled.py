"""Functions of the twins, compiled by numba, and kept in the build folder between processes.

numba freezes the values of a function's globals into its code, and many of them are constants of
``hw``. numba's own cache looks at the function's file alone, not at those that this imports. Here
the file name of compiled code is made of everything that the code depends on: the sources of its
module and of all our modules that this module imports, directly or not; the frozen values; the
types of the arguments, the processor and the versions of the tools. To unpickle a file is to run
it, so each begins with the user's seal (``system.cache``). File times do not matter, except that
code which nobody has used for 30 days is removed.

This uses two things that numba does not promise: a dispatcher asks its ``_cache`` (for a ufunc, its
``cache``) as it would ask a ``NullCache``, and a ``CompileResult`` can be taken apart to be
pickled. If numba changes them, every process compiles for itself, or the import says which name is
gone.
"""

import hmac
import os
import pickle
import re
import sys
import time
from contextlib import suppress
from functools import cache, cached_property, partial
from types import CodeType, FunctionType, ModuleType

import numba
import numpy as np
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from hw.errors import UsageError
from sim.sources import Sources, is_below
from system.cache import lasting, say, seal
from system.tools import BUILD_DIRECTORY

__all__ = ["FOLDER", "compiled", "elementwise", "sources"]

FOLDER = BUILD_DIRECTORY / "compiled"
_DAY_S = 24 * 3600
_KEPT_S = 30 * _DAY_S
_SEAL_BYTES = 32
#: of files that are removed in time, and of those that a killed process has left
_NAME = re.compile(r".+-[0-9a-f]{64}(\.\d+)?")
_VERSIONS = sys.version, numba.__version__, np.__version__
#: What twins are of: ``hw`` and ``sim``, which are ``rlfabric.hw`` and ``rlfabric.sim`` as well.
_OURS = tuple(above + name for above in ("", "rlfabric.") for name in ("hw", "sim"))


def compiled(function=None, **options):
    """Decorator: ``numba.njit(**options)``, whose compiled code is kept in ``FOLDER``.

    It may be used with or without parentheses. A division by zero follows IEEE and raises nothing,
    because an exception would cost a branch.
    """
    if function is None:
        return partial(compiled, **options)
    dispatcher = numba.njit(error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    dispatcher._cache = _Kept(function)
    return dispatcher


def elementwise(function):
    """Decorator: ``numba.vectorize``, which makes a NumPy ufunc of a function of scalars; the
    compiled code is kept in ``FOLDER``."""
    ufunc = numba.vectorize(function)
    ufunc._dispatcher.cache = _Kept(function)
    return ufunc


class _Kept(NullCache):
    """What numba asks for the compiled code of one function."""

    def __init__(self, function):
        self._function = function

    @property
    def cache_path(self):
        return str(FOLDER)

    def load_overload(self, sig, target_context):
        """The ``CompileResult``, or None if its file is missing or damaged."""
        target_context.refresh()
        try:
            path = self._path(sig, target_context.codegen())
            data = path.read_bytes()
            packed = data[_SEAL_BYTES:]
            if not hmac.compare_digest(data[:_SEAL_BYTES], seal(path.name, packed)):
                raise OSError(f"{path} must be as this user wrote it")
            result = CompileResult._rebuild(target_context, *pickle.loads(packed))
        except Exception:  # Whatever is wrong with it, it is compiled again.
            _announce()
            return None
        with suppress(OSError):
            if path.stat().st_mtime < time.time() - _DAY_S:
                os.utime(path)
        return result

    def save_overload(self, sig, data):
        """Keeps it. If that is impossible, says why; this process goes on without."""
        try:
            if data.lifted or data.library.has_dynamic_globals or not lasting():
                return
            path, packed = self._path(sig, data.codegen), dumps(data._reduce())
            _prepare()
            begun = path.with_name(f"{path.name}.{os.getpid()}")
            try:
                begun.write_bytes(seal(path.name, packed) + packed)
                begun.replace(path)
            finally:
                begun.unlink(missing_ok=True)
        except Exception as error:
            _complain(str(error))

    def _path(self, sig, codegen):
        key = repr((self._made_of, str(sig), codegen.magic_tuple(), _VERSIONS))
        name = f"{self._function.__module__}.{self._function.__qualname__}"
        return FOLDER / f"{name}-{seal(name, key.encode()).hex()}"  # of each user another file

    @cached_property
    def _made_of(self):
        """Found at the first call, when numba freezes the values."""
        return sources(self._function.__module__), _frozen(self._function, None, set())


@cache
def _prepare():
    FOLDER.mkdir(parents=True, exist_ok=True)
    oldest = time.time() - _KEPT_S
    for path in FOLDER.iterdir():
        if not _NAME.fullmatch(path.name):
            continue
        with suppress(OSError):  # Another process may have removed it.
            if path.stat().st_mtime < oldest:
                path.unlink()


@cache
def _announce():
    often = f"once: {FOLDER} keeps them" if lasting() else "at each start"
    say(f"compiling twins of kernels with numba, which takes seconds, {often}")


@cache
def _complain(error):
    say(f"compiled code cannot be kept in {FOLDER} ({error}); RLFABRIC_BUILD names another folder")


@cache
def sources(name):
    """Digest of the sources of a module and of all our modules that it imports, directly or not,
    the ``__init__`` of each package on the way included; UsageError if the module has no source.
    """
    ours = _OURS if is_below(name, _OURS) else (*_OURS, name.partition(".")[0])
    found = Sources([name], lambda each: is_below(each, ours))
    if not found.modules[name]:
        raise UsageError(f"{name} must be a module with a source")
    return found.digest


def _frozen(value, named, seen):
    """What numba freezes of ``value``, as an object whose ``repr`` differs for different values.

    The sources already determine it, unless a source has changed after its import, or Python has
    used a stale ``.pyc``.

    named : the globals of the function that ``value`` is from
    seen : the functions that need not be looked at again
    """
    value = getattr(value, "py_func", value)  # of a dispatcher
    if isinstance(value, FunctionType) and value not in seen:
        seen.add(value)
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return [_frozen(each, value.__globals__, seen) for each in (value.__code__, *cells)]
    if isinstance(value, CodeType):
        values = *value.co_consts, *(named[name] for name in value.co_names if name in named)
        return value.co_code, value.co_names, [_frozen(each, named, seen) for each in values]
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, tuple):
        return [_frozen(each, named, seen) for each in value]
    return value.__name__ if isinstance(value, FunctionType | ModuleType | type) else value
