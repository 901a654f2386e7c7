"""pyxrt's buffer object on the simulated card: bytes on the host, bytes on the card, and sync."""

from enum import IntEnum

import numpy as np

__all__ = ["bo", "xclBOSyncDirection"]


class xclBOSyncDirection(IntEnum):
    XCL_BO_SYNC_BO_TO_DEVICE = 0
    XCL_BO_SYNC_BO_FROM_DEVICE = 1


_TO_DEVICE = xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE


class bo:
    """A buffer of ``size`` bytes: ``bo(device, size, flags, group)``, or a part of another buffer,
    which shares its bytes: ``bo(parent, size, offset)``.

    ``group`` is the number of a bank. Each buffer has two copies of its bytes. ``map``, ``write``
    and ``read`` use the host's copy, the kernel uses the device's. ``sync`` copies all bytes, or
    ``size`` bytes from ``offset`` on, in the given direction. The bank's memory is free again when
    the buffer is deleted.
    """

    normal, cacheable, device_only, host_only, p2p, svm = range(6)

    def __init__(self, owner, size, flags, group=None):
        if isinstance(owner, bo):
            offset = flags
            if offset < 0 or offset + size > owner.size():
                raise RuntimeError(f"sub-buffer must be inside {owner.size()} bytes")
            part = slice(offset, offset + size)
            self._parent, self._group = owner, owner._group
            self._host, self._card = owner._host[part], owner._card[part]
            self._address = owner._address + offset
            self._sides = memoryview(self._host), memoryview(self._card)
            return
        if group is None:
            raise TypeError("incompatible constructor arguments: group is missing")
        if flags not in (bo.normal, bo.cacheable):
            raise RuntimeError(f"flags must be normal or cacheable, not {flags}")
        owner = getattr(owner, "_device", owner)  # a hw_context has one
        self._parent, self._group, self._allocator = None, group, owner._banks[group]
        self._address = self._allocator.allocate(max(1, size))
        self._host, self._card = np.zeros(size, np.uint8), owner._begin(self._address, size)
        self._sides = memoryview(self._host), memoryview(self._card)

    def __del__(self):
        if getattr(self, "_parent", self) is None and hasattr(self, "_address"):
            self._allocator.release(self._address)

    def size(self):
        return len(self._host)

    def address(self):
        return self._address

    def map(self):
        return memoryview(self._host)

    def write(self, buffer, seek):
        data = np.frombuffer(buffer, np.uint8)
        self._check(len(data), seek)
        self._host[seek : seek + len(data)] = data

    def read(self, size, skip):
        self._check(size, skip)
        return self._host[skip : skip + size].view(np.int8).copy()

    def sync(self, direction, size=None, offset=0):
        size = self.size() - offset if size is None else size
        self._check(size, offset)
        part, (source, target) = slice(offset, offset + size), self._sides
        if direction == _TO_DEVICE:
            target[part] = source[part]
        else:
            source[part] = target[part]

    def _check(self, size, offset):
        if offset < 0 or offset + size > len(self._host):
            raise RuntimeError(f"bytes {offset}..{offset + size} must be inside {self.size()}")
