"""The commit and the date of a measurement, whose sources are those of the commit."""

import subprocess
from datetime import datetime, timezone
from pathlib import Path

from hw.errors import UsageError

__all__ = ["SOURCES", "changed", "commit", "commit_for", "now"]

_ROOT = Path(__file__).parents[1]

#: Folders and files that can change a row. Documents, rows and tests cannot.
SOURCES = ("hw", "system", "sim", "boards", "host", "bench", "rlfabric", "examples", "scripts",
           "pyproject.toml", "constraints.txt")  # fmt: skip
_NAMED = 5


def changed():
    """The list of files of ``SOURCES`` that differ from the commit, untracked files included unless
    git ignores them; empty if this is no checkout, or git is missing."""
    found = _git("status", "--porcelain", "--untracked-files=all", "--", *SOURCES)
    return [line[3:] for line in (found or "").splitlines()]


def commit():
    """The short name of the checkout's commit, with a ``+`` if ``changed()`` names a file; None if
    this is no checkout, or git is missing."""
    name = _git("rev-parse", "--short=7", "HEAD")
    return name and name.strip() + ("+" if changed() else "")


def commit_for(path):
    """``commit()`` of a measurement that is kept in ``path``.

    UsageError if ``path`` is in this checkout and sources differ from its commit: nobody could
    check out what was measured. Elsewhere, the ``+`` says so.
    """
    files = changed() if _ROOT.resolve() in Path(path).resolve().parents else ()
    if files:
        more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
        raise UsageError(
            "sources must be committed before their measurements are kept, not changed in "
            f"{', '.join(files[:_NAMED])}{more}"
        )
    return commit()


def now():
    """The date and the time of day, UTC, as ``2026-11-23 16:33``."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M")


def _git(*words):
    try:
        done = subprocess.run(
            ["git", "-C", str(_ROOT), *words], capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
