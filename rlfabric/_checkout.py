"""If the repository itself is installed, ``rlfabric.hw.designs`` is the module ``hw.designs``.

A wheel has ``hw``, ``sim``, ``boards`` and ``host`` below this package, and extensions import them
from here. In the repository these folders lie beside this package. There ``rlfabric.hw`` and the
like are other names of the same modules, never second copies, so that a class is the same object by
either name.
"""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import InspectLoader, Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType

__all__ = ["alias"]

_FOLDERS = ("boards", "host", "hw", "sim", "system")


class _Alias(MetaPathFinder, Loader):
    """Finder and loader of the other names."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        above, _, inner = name.partition(".")
        ours = above == __package__ and inner.partition(".")[0] in _FOLDERS
        found = importlib.util.find_spec(inner) if ours else None
        if found is None:
            return None
        # ``python -m`` makes the origin sys.argv[0].
        package = found.submodule_search_locations is not None
        return ModuleSpec(name, self, origin=found.origin, is_package=package)

    def get_code(self, name: str) -> CodeType | None:
        """The code that ``python -m name`` runs."""
        inner = name.partition(".")[2]
        found = importlib.util.find_spec(inner)
        loader = found and found.loader
        return loader.get_code(inner) if isinstance(loader, InspectLoader) else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Lets Python create its usual module, which is then replaced."""

    def exec_module(self, module: ModuleType) -> None:
        inner = module.__name__.partition(".")[2]
        sys.modules[module.__name__] = importlib.import_module(inner)


def alias() -> None:
    """Makes ``rlfabric.hw``, ``rlfabric.system``, ``rlfabric.sim``, ``rlfabric.boards`` and
    ``rlfabric.host``, with all modules in them, other names of the modules ``hw``, ``system``,
    ``sim``, ``boards`` and ``host``."""
    sys.meta_path.insert(0, _Alias())
