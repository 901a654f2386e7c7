"""The commit and the date of a measurement."""

import subprocess
from datetime import datetime, timezone
from pathlib import Path

__all__ = ["commit", "now"]

_ROOT = Path(__file__).parents[1]


def commit():
    """The short name of the checkout's commit, with a ``+`` if tracked files differ from it; None
    if this is no checkout, or git is missing."""
    name = _git("rev-parse", "--short=7", "HEAD")
    return name and name + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")


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
    return done.stdout.strip() if done.returncode == 0 else None
