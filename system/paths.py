"""Paths as users write them."""

from os import PathLike
from pathlib import Path

from hw.errors import UsageError

__all__ = ["user_path"]


def user_path(path: str | PathLike[str]) -> Path:
    """``path`` with a home in place of its ``~`` or ``~user``, which a shell leaves in
    ``--out=~/runs``, and Python always. UsageError if there is no such home."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{path} must be in a home that is known, not without one") from error
