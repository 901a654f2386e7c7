"""Releases of Vitis, Vivado and XRT that fit together, and that fit a board's platform.

Source: XRT's branches and version file (each release has a branch); platforms in ``boards/<name>``.
"""

import re
import subprocess

from boards.bitstream import BuildFailed, WrongVersion

__all__ = ["XRT", "check_release", "fitting", "release_of"]

#: Release of Vitis and Vivado -> version of XRT that belongs to it.
XRT = {
    "2020.2": "2.8",
    "2021.1": "2.11",
    "2021.2": "2.12",
    "2022.1": "2.13",
    "2022.2": "2.14",
    "2023.1": "2.15",
    "2023.2": "2.16",
    "2024.1": "2.17",
    "2024.2": "2.18",
    "2025.1": "2.19",
    "2025.2": "2.20",
    "2026.1": "2.23",
}


def fitting(board):
    """The list of releases of the table ``XRT`` that know the board's platform, oldest first."""
    first, last = board.releases
    # Releases have four digits, a point and one digit, so they compare as texts.
    return [release for release in XRT if first <= release and (last is None or release <= last)]


def release_of(text):
    """The release that ``v++ --version`` or ``vivado -version`` names, such as 2022.2; else None.

    An update (2022.1.1) belongs to its release.
    """
    found = re.search(r"\bv(20\d\d\.\d)(?:\.\d+)?\b", text)
    return found[1] if found else None


def check_release(program, option, board):
    """The release, such as "2022.2", of the tool at the path ``program``.

    ``option`` makes the tool print its version. WrongVersion unless the release knows the board's
    platform; a release that is newer than the table passes if the platform has not been dropped.
    BuildFailed if the tool cannot run or names no release.
    """
    name = program.rsplit("/", 1)[-1]
    try:
        result = subprocess.run(
            [program, option], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildFailed(f"{name} {option} must run, not fail: {error}") from error
    release = release_of(result.stdout)
    if release is None:
        last = (result.stdout + result.stderr).strip().splitlines()[-1:]
        raise BuildFailed(f"{name} {option} must name a release, not print {''.join(last)!r}")
    first, final = board.releases
    if release < first or (final is not None and release > final):
        raise WrongVersion(
            f"{name} must be of release {first} to {final or max(XRT)}, which know "
            f"{board.platform}, not {release}"
        )
    return release
