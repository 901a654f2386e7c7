"""Extras of this package: imports from them, and the command that installs one."""

import importlib
from pathlib import Path

from hw.errors import MissingTool

__all__ = ["install", "needed"]

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
