"""host.cards.buffer and kernel without a card: which bytes are moved, which numbers are given."""

from types import SimpleNamespace

import numpy as np
import pytest

from host.cards.buffer import Buffer
from host.cards.kernel import Kernel
from host.cards.xrt import _built_for


class Memory:
    """A bo, which counts what it moves."""

    def __init__(self, size):
        self.bytes, self.moved = bytearray(range(size)), []

    def map(self):
        return memoryview(self.bytes)

    def sync(self, *how):
        self.moved.append(how)


@pytest.fixture
def buffer():
    direction = SimpleNamespace(XCL_BO_SYNC_BO_TO_DEVICE="to", XCL_BO_SYNC_BO_FROM_DEVICE="from")
    return Buffer(SimpleNamespace(xclBOSyncDirection=direction), Memory(128), 100, 128, 0)


def test_the_part_that_was_meant_is_moved(buffer):
    """Size, then offset; all behind the offset where no size is given."""
    buffer.write(np.uint32([1, 2]), 8)
    buffer.write_bytes(b"abc", 20)
    assert buffer.read(np.uint16, 3, 40).tolist() == [40 + 41 * 256, 42 + 43 * 256, 44 + 45 * 256]
    assert bytes(buffer.read_bytes(3, 20)) == b"abc"
    buffer.to_device(offset=30)
    buffer.from_device(5, 6)
    buffer.to_device()
    assert buffer.bo.moved == [
        ("to", 8, 8), ("to", 3, 20), ("from", 6, 40), ("from", 3, 20),
        ("to", 70, 30), ("from", 5, 6), ("to", 100, 0),
    ]  # fmt: skip
    assert buffer.bo.bytes[8:16] == np.uint32([1, 2]).tobytes()


def test_what_was_read_stays(buffer):
    """Whatever the next launch writes there."""
    read, taken = buffer.read(np.uint8, 4, 8), buffer.read_bytes(4, 8)
    buffer.view[:] = 0
    assert read.tolist() == list(taken) == [8, 9, 10, 11]


@pytest.mark.parametrize(
    "value, given", [(0, 0), (2**31 - 1, 2**31 - 1), (2**31, -(2**31)), (2**32 - 1, -1)]
)
def test_scalars_are_32_bits_as_pyxrt_takes_them(value, given):
    kernel, argument = object.__new__(Kernel), SimpleNamespace(kind="scalar", name="count")
    assert kernel._checked(argument, value) == given
    with pytest.raises(ValueError, match="^count must be an integer in 0..4294967295, not 4294967"):
        kernel._checked(argument, 2**32)


def test_the_python_that_an_xrt_is_for(tmp_path, monkeypatch):
    """Of two digits behind the point; an empty entry of PYTHONPATH is no place."""
    monkeypatch.setenv("XILINX_XRT", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", "")
    here = tmp_path / "here"
    here.mkdir()
    name = "pyxrt.cpython-310-x86_64-linux-gnu.so"
    (here / name).touch()
    monkeypatch.chdir(here)
    assert _built_for() is None
    monkeypatch.setenv("PYTHONPATH", f":{here}")
    assert _built_for() == f"{here / name} is for Python 3.10"
