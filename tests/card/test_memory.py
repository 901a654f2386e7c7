"""sim.card.memory: configs, banks, and what a launch may touch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hw.shell.program import PAGE_BYTES
from sim.card.memory import Allocator, Bank, Buffer, Fault, Memory, MemoryConfig


@pytest.mark.parametrize(
    "bad",
    [
        dict(read_latency=0), dict(write_latency=-1), dict(outstanding=1.5), dict(max_idle=0),
        dict(bandwidth=0), dict(bandwidth=1.1), dict(stall=1.0), dict(stall=-0.1), dict(seed=-1),
    ],
)  # fmt: skip
def test_config_rejects(bad):
    (name,) = bad
    with pytest.raises(ValueError, match=f"^{name} must be "):
        MemoryConfig(**bad)


@pytest.mark.parametrize(
    "field, bad",
    [
        ("channel", dict(channel="X")),
        ("kind", dict(channel="R", kind="slow")),
        ("channel", dict(channel="AR", kind="error")),
        ("cycle", dict(channel="R", cycle=-1)),
    ],
)
def test_fault_rejects(field, bad):
    with pytest.raises(ValueError, match=f"^{field} must be "):
        Fault(master="m_axi_host", **bad)


@given(st.lists(st.tuples(st.integers(1, 5 * PAGE_BYTES), st.booleans()), max_size=40))
def test_blocks_are_apart_inside_and_on_pages(requests):
    base, size = 7 * PAGE_BYTES, 20 * PAGE_BYTES
    bank, blocks = Allocator(Bank("B", size), base), []
    for length, drop in requests:
        try:
            start = bank.allocate(length)
        except MemoryError:
            gaps = np.ones(20, bool)
            for a, n in blocks:
                gaps[(a - base) // PAGE_BYTES : -(-(a - base + n) // PAGE_BYTES)] = False
            free = "".join("x" if gap else " " for gap in gaps).split()
            assert max(map(len, free), default=0) * PAGE_BYTES < length
            continue
        assert start % PAGE_BYTES == 0 and base <= start and start + length <= base + size
        assert all(start >= a + n or a >= start + length for a, n in blocks)
        blocks.append((start, length))
        if drop:
            bank.release(blocks.pop(0)[0])


def test_full_bank_names_what_would_fit():
    bank = Allocator(Bank("DDR[1]", 8 * PAGE_BYTES), 0)
    bank.allocate(3 * PAGE_BYTES)
    with pytest.raises(MemoryError, match=r"at most 20480 bytes in bank DDR\[1\], not 20481"):
        bank.allocate(5 * PAGE_BYTES + 1)


def test_view_stays_inside_one_buffer():
    first, second = np.zeros(64, np.uint8), np.zeros(64, np.uint8)
    memory = Memory([Buffer("m", 4096, first), Buffer("m", 4160, second)])
    memory.view(4160, 64)[:] = 5
    assert not first.any() and (second == 5).all()
    for address, size in ((4095, 1), (4096, 65), (4224, 1)):
        with pytest.raises(IndexError, match="address must be inside a buffer"):
            memory.view(address, size)
