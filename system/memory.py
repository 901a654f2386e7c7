"""Available memory, and arrays of zeros that may exceed it."""

import mmap
import warnings
from pathlib import Path

import numpy as np

from hw.errors import Failure

__all__ = ["available", "zeros"]

#: Linux's flag, which Python names from 3.13 on.
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)
_MEMINFO, _PROC, _GROUPS = Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def available():
    """Bytes that this process may still take: what the machine has free, or what the limits of its
    control groups leave (Linux); None where neither is told."""
    found = []
    try:
        for line in _MEMINFO.read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                found.append(int(line.split()[1]) << 10)
        for line in _PROC.read_text(encoding="utf-8").splitlines():
            found += _left(line.rpartition(":")[2].strip("/"))
    except (OSError, ValueError):  # another system, or one that hides it
        pass
    return min(found) if found else None


def _left(group):
    """Bytes left under the memory limits of a control group and its parents."""
    folder = _GROUPS / group
    for each in (folder, *folder.parents):
        try:
            limit = (each / "memory.max").read_text(encoding="utf-8").strip()
            if limit != "max":
                yield int(limit) - int((each / "memory.current").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            pass
        if each == _GROUPS:
            return


def zeros(shape, dtype, what):
    """An array of zeros, whose pages take memory when they are first written. If it is larger than
    what is available, a RuntimeWarning says so, and calls it ``what``: it may never be full.
    Failure if the system refuses it."""
    dtype = np.dtype(dtype)
    size, left = int(np.prod(shape, dtype=object)) * dtype.itemsize, available()
    if left is not None and size > left:
        warnings.warn(
            f"{what} must fit the memory of this machine, not take {size / 1e9:.1f} GB when it is "
            f"full: {max(0, left) / 1e9:.1f} GB are available, and the system may then end the "
            "process",
            RuntimeWarning,
            stacklevel=3,
        )
    try:
        return np.zeros(shape, dtype)
    except MemoryError:
        pass  # Linux refuses what is obviously too much, unless it is told not to count it
    try:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
        return np.frombuffer(mmap.mmap(-1, size, flags=flags), dtype).reshape(shape)
    except (AttributeError, OSError, ValueError, OverflowError) as error:
        raise Failure(
            f"{what} must fit the memory of this machine, not take {size / 1e9:.1f} GB "
            "(the system refuses it)"
        ) from error
