"""sim.card.memory: configs, banks, and what a launch may touch."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hw.shell.program import PAGE_BYTES
from sim.card import memory as card_memory
from sim.card.memory import Allocator, Bank, Buffer, Fault, Memory, MemoryConfig


@pytest.mark.parametrize(
    "bad",
    [
        dict(read_latency=0), dict(write_latency=-1), dict(outstanding=1.5), dict(max_idle=0),
        dict(bandwidth=0), dict(bandwidth=1.1), dict(stall=1.0), dict(stall=-0.1), dict(seed=-1),
        dict(period=0), dict(pause=-1), dict(pause=1), dict(pause=8, period=8), dict(write_wait=-1),
    ],
)  # fmt: skip
def test_config_rejects(bad):
    name = next(iter(bad))
    with pytest.raises(ValueError, match=f"^{name} must be .*, not {bad[name]}$"):
        MemoryConfig(**bad)


def test_config_rejects_an_unknown_order():
    message = "^write_order must be one of address, together, data, not 'reverse'$"
    with pytest.raises(ValueError, match=message):
        MemoryConfig(write_order="reverse")


def test_pause_is_below_its_period():
    MemoryConfig(pause=7, period=8)
    with pytest.raises(ValueError, match=r"in 0\.\.7, below period, not 8$"):
        MemoryConfig(pause=8, period=8)


@pytest.mark.parametrize(
    "message, bad",
    [
        ("channel must be one of AW, W, B, AR, R, not 'X'", dict(channel="X")),
        ("kind must be one of stuck, error, not 'slow'", dict(kind="slow")),
        ("response must be one of SLVERR, DECERR, not 'OKAY'", dict(kind="error", response="OKAY")),
        ("channel must be B or R for an error, not 'AR'", dict(channel="AR", kind="error")),
        (f"cycle must be an integer in 0..{2**63}, not -1", dict(cycle=-1)),
        (f"until must be an integer in 8..{2**64 - 1}, after cycle, not 7", dict(cycle=7, until=7)),
        (f"skip must be an integer in 0..{2**63}, not -1", dict(kind="error", skip=-1)),
        (f"count must be an integer in 1..{2**63}, not 0", dict(kind="error", count=0)),
        (f"address must be an integer in 0..{2**63}, not 0.5", dict(kind="error", address=0.5)),
        (f"size must be an integer in 1..{2**63}, not 0", dict(kind="error", size=0)),
        ("skip must be 0 for a stuck channel, not 3", dict(skip=3)),
        ("count must be None for a stuck channel, not 1", dict(count=1)),
        ("response must be SLVERR for a stuck channel, not 'DECERR'", dict(response="DECERR")),
        ("address must be 0 for a stuck channel, not 64", dict(address=64)),
        ("size must be None for a stuck channel, not 64", dict(size=64)),
    ],
)
def test_fault_rejects(message, bad):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Fault(**dict(master="m_axi_host", channel="R") | bad)


@pytest.mark.parametrize("kind", ["stuck", "error"])
def test_fault_takes_the_limits(kind):
    Fault(master="m_axi_host", channel="R", kind=kind, cycle=7, until=8)
    Fault(master="m_axi_host", channel="R", kind=kind, cycle=2**63, until=2**64 - 1)
    if kind == "error":
        Fault(master="m_axi_host", channel="R", kind=kind, count=1, address=2**63, size=2**63)


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


def test_words_are_the_same_bytes_however_many_are_kept(monkeypatch):
    monkeypatch.setattr(card_memory, "_KEPT", 4)
    first, second = np.zeros(256, np.uint8), np.zeros(64, np.uint8)
    memory = Memory([Buffer("m", 4096, first), Buffer("m", 4352, second)])
    for number in (1, 2):
        for place in range(0, 256, 16):
            memory.words(4096 + place, 16)[:] = number << 24 | place
            assert len(memory._words) <= 4
        assert first.view(np.uint32)[::4].tolist() == [number << 24 | p for p in range(0, 256, 16)]
    # One address, two sizes; and nothing outside, however often it is asked for.
    assert len(memory.words(4352, 64)) == 16 and len(memory.words(4352, 32)) == 8
    memory.words(4352, 64)[:] = 7
    assert (second.view(np.uint32) == 7).all()
    for _ in range(2):
        with pytest.raises(IndexError, match="address must be inside a buffer"):
            memory.words(4352, 128)
