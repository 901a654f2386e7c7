"""Extras of this package: imports from them, and the command that installs one."""

import importlib
from pathlib import Path

from hw.errors import MissingTool

__all__ = ["install", "needed"]

#: whether this is a checkout, and not an installed package
_CHECKOUT = (Path(__file__).parents[1] / "constraints.txt").exists()


def install(extra):
    """The command that installs rlfabric with ``extra``, or None, as it is installed here."""
    what = f"[{extra}]" if extra else ""
    return (
        f"pip install -c constraints.txt -e '.{what}'"
        if _CHECKOUT
        else f"pip install 'rlfabric{what}'"
    )


def needed(module, extra, purpose):
    """The ``module`` of a package of ``extra``; if it is missing, MissingTool, whose message has
    ``purpose`` ("to write an mp4") and the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise MissingTool(
            f"{name} must be installed {purpose} ({install(extra)}), not missing: {error}"
        ) from error
