"""Packages of a user's own, as if pip had installed them: those that pages show, and others."""

import re
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from boards import BOARDS
from host.agents.registry import ALGORITHMS
from hw.designs import DESIGNS
from sim.model.kernels import KERNELS

__all__ = ["REGISTRIES", "commands", "install", "install_page", "shown", "visible"]

DOCS = Path(__file__).parent.parent / "docs"
REGISTRIES = ALGORITHMS, DESIGNS, KERNELS, BOARDS


def shown(page):
    """``{path: text}`` of the files that a page shows: a path in bold, and a block of code."""
    text = (DOCS / page).read_text()
    return dict(re.findall(r"^\*\*([\w./]+)\*\*\n\n```\w+\n(.*?)^```$", text, re.M | re.S))


def commands(page):
    """The lines of a page's blocks of commands, each as one where a backslash continues it."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S)
    return [line for block in blocks for line in re.sub(r" *\\\n *", " ", block).splitlines()]


def install(folder, name, groups, files):
    """Put ``files`` into ``folder``, and what pip writes of a package with the entry points
    ``groups``, which are their text in ``entry_points.txt``."""
    beside = f"{name.replace('-', '_')}-0.1.dist-info"
    files = {
        **files,
        f"{beside}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n",
        f"{beside}/entry_points.txt": groups,
    }
    for path, text in files.items():
        path = Path(folder, path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def install_page(folder, page):
    """``install`` what a page shows; the files."""
    files = shown(page)
    project = files["pyproject.toml"]
    (name,) = re.findall(r'^name = "(.*)"$', project, re.M)
    points = project[project.index("[project.entry-points") :]
    groups = re.sub(r'\[project\.entry-points\."(.*)"\]', r"[\1]", points).replace('"', "")
    install(folder, name, groups, files)
    return files


@contextmanager
def visible(folder, *, on_path=True):
    """What is installed in ``folder`` is found, unless it shall not be ``on_path``; what was
    imported from there, and what the registries got, is forgotten at the end."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        if on_path:
            patch.syspath_prepend(folder)
        for registry in REGISTRIES:
            patch.setattr(registry, "_ahead", None)
            patch.setattr(registry, "_found", dict(registry._found))
            patch.setattr(registry, "modules", {})
        yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(folder)):
            del sys.modules[name]
