"""Memory that host and kernel share."""

from types import ModuleType
from typing import NoReturn, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from hw.errors import UsageError
from hw.shell.program import PAGE_BYTES

__all__ = ["Buffer", "OnCard"]


class OnCard:
    """A base class of objects that hold a card: to copy or pickle one is a UsageError, whose line
    says what to do instead."""

    _INSTEAD = "be carried by state_dict and load_state_dict"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise UsageError(
            f"{type(self).__name__} must {self._INSTEAD}, not be copied or pickled: it holds a card"
        )


class _Memory:
    """Memory of ``bo``, as an object that NumPy keeps alive, since pyxrt's ``map`` does not keep
    its buffer."""

    def __init__(self, bo):
        self.bo, self._map = bo, bo.map()
        self.__array_interface__ = np.frombuffer(self._map, np.uint8).__array_interface__


class Buffer(OnCard):
    """A buffer of bytes that host and kernel share, with a copy on each side; ``Kernel.buffer``
    makes it.

    Members
    -------
    view : numpy.ndarray of uint8 [size]
        The host's copy. ``to_device`` copies a part of it to the card, ``from_device`` a part of
        the card's copy to it.
    size : int
        Bytes that were asked for.
    room : int
        Bytes that the kernel may use: ``size`` rounded up to whole units of the kernel.

    ValueError from every method if a part is not inside of the buffer.
    """

    _INSTEAD = "be carried by its bytes (read, write)"

    def __init__(self, api: ModuleType, bo: object, size: int, room: int, group: int) -> None:
        self.bo, self.size, self.room, self.group = bo, size, room, group
        self.pages = -(-size // PAGE_BYTES) * PAGE_BYTES
        self.view = np.asarray(_Memory(bo))[:size]
        self._bytes = self.view.data
        self._to_device = api.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE
        self._from_device = api.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE

    def write(self, array: ArrayLike, offset: int = 0) -> None:
        """Copies the bytes of ``array`` to the host's copy and to the card, from ``offset`` bytes
        into the buffer on."""
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self._part(data.size, offset)[:] = data
        if data.size:
            self.bo.sync(self._to_device, data.size, offset)

    def write_bytes(self, data: bytes, offset: int = 0) -> None:
        """``write`` of bytes."""
        self.stage_bytes(data, offset)
        if data:
            self.bo.sync(self._to_device, len(data), offset)

    def stage_bytes(self, data: bytes, offset: int = 0) -> None:
        """``write_bytes`` into the host's copy only."""
        self._check(len(data), offset)
        self._bytes[offset : offset + len(data)] = data

    def read_bytes(self, size: int, offset: int = 0) -> bytearray:
        """``read`` of bytes: a bytearray."""
        self._check(size, offset)
        if size:
            self.bo.sync(self._from_device, size, offset)
        return bytearray(self._bytes[offset : offset + size])

    def read(self, dtype: DTypeLike, count: int, offset: int = 0) -> NDArray[np.generic]:
        """Copies bytes from the card to the host's copy, and returns them as a new array of
        ``count`` items of ``dtype``. They begin ``offset`` bytes into the buffer."""
        dtype = np.dtype(dtype)
        part = self._part(dtype.itemsize * count, offset)
        if part.size:
            self.bo.sync(self._from_device, part.size, offset)
        return part.copy().view(dtype)  # a copy of records leaves the gaps between fields open

    def to_device(self, size: int | None = None, offset: int = 0) -> None:
        self._sync(self._to_device, size, offset)

    def from_device(self, size: int | None = None, offset: int = 0) -> None:
        self._sync(self._from_device, size, offset)

    def _sync(self, direction, size, offset):
        size = self.size - offset if size is None else size
        self._check(size, offset)
        if size:
            self.bo.sync(direction, size, offset)

    def _part(self, size, offset):
        self._check(size, offset)
        return self.view[offset : offset + size]

    def _check(self, size, offset):
        if offset < 0 or size < 0 or offset + size > self.size:
            raise UsageError(
                f"offset must keep {size} bytes inside the {self.size} of the buffer, not {offset}"
            )
