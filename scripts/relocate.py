"""Hatchling's build hook: a wheel or sdist installs only one name, ``rlfabric``.

In the repository ``hw``, ``system``, ``sim``, ``boards`` and ``host`` lie at the top and are
imported by these names. If they were installed like this, a user's own ``host.py`` could hide one
of them. So a wheel or sdist has these folders below ``rlfabric``, with changed imports. In an sdist
they are there already, and a wheel that is built from an sdist takes them unchanged. An editable
installation is the repository itself.
"""

import ast
import shutil
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

__all__ = ["FOLDERS", "Relocate", "relocated"]

NAME = "rlfabric"
FOLDERS = ("boards", "host", "hw", "sim", "system")


def relocated(source):
    """Python text in which imports of ``FOLDERS`` are imports from below ``rlfabric``.

    ValueError for an import that has no such form: ``import host.cards`` binds the name ``host``.
    """
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if any(name.partition(".")[0] in FOLDERS for name in _imported(node)):
            old, new = _change(node)
            # Columns of ast count bytes; only spaces stand before an import.
            line, column = lines[node.lineno - 1], node.col_offset
            lines[node.lineno - 1] = line[:column] + line[column:].replace(old, new, 1)
    return "".join(lines)


def _imported(node):
    """Names of the modules that ``node`` imports absolutely; none if ``node`` is no import."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []


def _change(node):
    """The change of an import's line: the old text, and the new one."""
    if isinstance(node, ast.ImportFrom):
        return "from ", f"from {NAME}."
    if len(node.names) == 1:
        if "." not in node.names[0].name:
            return "import ", f"from {NAME} import "
        if node.names[0].asname:
            return "import ", f"import {NAME}."
    raise ValueError(f"line {node.lineno}: {ast.unparse(node)} must be from ... import")


class Relocate(BuildHookInterface):
    """Puts relocated copies of ``rlfabric`` and ``FOLDERS`` into a wheel or sdist."""

    def initialize(self, version, build_data):
        if version == "editable":
            return
        self._copies = tempfile.TemporaryDirectory(prefix="rlfabric-")
        in_repository = Path(self.root, FOLDERS[0]).is_dir()
        for source, target in self._files():
            copy = Path(self._copies.name, target)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if source.suffix == ".py" and in_repository:
                copy.write_text(relocated(source.read_text(encoding="utf-8")), encoding="utf-8")
            else:
                shutil.copyfile(source, copy)
            build_data["force_include"][str(copy)] = str(target)

    def finalize(self, version, build_data, artifact_path):
        if version != "editable":
            self._copies.cleanup()

    def _files(self):
        """Pairs of a file and its place in the wheel or sdist."""
        root = Path(self.root)
        for folder in (NAME, *FOLDERS):
            for path in sorted((root / folder).rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    inner = path.relative_to(root)
                    yield path, inner if folder == NAME else Path(NAME, inner)
