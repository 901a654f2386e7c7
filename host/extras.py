"""Extras of this package, and the command that installs one."""

from pathlib import Path

__all__ = ["install"]

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
