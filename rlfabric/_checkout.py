"""``rlfabric.hw.designs`` where the repository itself is installed: the module ``hw.designs``.

A wheel has ``hw``, ``sim``, ``boards`` and ``host`` below this package, and whoever writes an
extension imports them from here. In the repository they lie beside it; there these names are other
names of the same modules, never second copies, so that a class is itself by either name.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["alias"]

_FOLDERS = ("boards", "host", "hw", "sim")


class _Alias(Loader):
    """Finder and loader of the other names."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        above, _, inner = name.partition(".")
        if above == __package__ and inner.partition(".")[0] in _FOLDERS:
            return ModuleSpec(name, _Alias())
        return None

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType | None:
        return None  # the usual one, which nobody sees

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        inner = module.__name__.partition(".")[2]
        sys.modules[module.__name__] = importlib.import_module(inner)


def alias() -> None:
    """Have the names found, before a folder of these modules is searched for a second copy."""
    if _Alias not in sys.meta_path:
        sys.meta_path.insert(0, _Alias)
