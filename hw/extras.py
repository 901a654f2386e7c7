"""Extras of this package: imports from them, and the command that installs one; processes that
import them."""

import importlib
import sys
from pathlib import Path

from hw.errors import MissingTool

__all__ = ["install", "needed", "python"]

#: whether this is a checkout, and not an installed package
_CHECKOUT = (Path(__file__).parents[1] / "constraints.txt").exists()


def install(extra):
    """The pip command, a text, that installs rlfabric with ``extra``, the name of an extra or None.

    It is the command for a checkout if this is one, else that for the package index.
    """
    what = f"[{extra}]" if extra else ""
    return (
        f"pip install -c constraints.txt -e '.{what}'"
        if _CHECKOUT
        else f"pip install 'rlfabric{what}'"
    )


def python(program, *arguments):
    """The command, a list, that runs the text ``program`` with this Python and with ``arguments``.

    The current folder is not on its path: files there may be a stranger's, and have the name of a
    module.
    """
    path = "import sys; sys.path[:] = [place for place in sys.path if place]\n"
    return [sys.executable, "-u", "-c", path + program, *arguments]


def needed(module, extra, purpose):
    """Imports and returns ``module``, which comes with the extra ``extra``.

    If it cannot be imported: MissingTool, whose message has ``purpose`` ("to write an mp4") and the
    command that installs the extra.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise MissingTool(
            f"{name} must be installed {purpose} ({install(extra)}), not missing: {error}"
        ) from error
