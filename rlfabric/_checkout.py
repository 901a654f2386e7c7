"""``rlfabric.hw.designs`` where the repository itself is installed: the module ``hw.designs``.

A wheel has ``hw``, ``sim``, ``boards`` and ``host`` below this package, and whoever writes an
extension imports them from here. In the repository they lie beside it; there these names are other
names of the same modules, never second copies, so that a class is itself by either name.
"""

import importlib
import sys
from importlib.machinery import ModuleSpec

__all__ = ["alias"]

_FOLDERS = ("boards", "host", "hw", "sim")


class _Alias:
    """Finder and loader of the other names."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        above, _, inner = name.partition(".")
        if above == __package__ and inner.partition(".")[0] in _FOLDERS:
            return ModuleSpec(name, _Alias)
        return None

    @staticmethod
    def create_module(spec):
        return None  # the usual one, which nobody sees

    @staticmethod
    def exec_module(module):
        inner = module.__name__.partition(".")[2]
        sys.modules[module.__name__] = importlib.import_module(inner)


def alias():
    """Have the names found, before a folder of these modules is searched for a second copy."""
    if _Alias not in sys.meta_path:
        sys.meta_path.insert(0, _Alias)
