"""What of a write sim/card/memory.hpp takes first, and how long it lets it wait. # hw_core 4"""

import numpy as np
import pytest
from card.memory_shim import BASE, BEAT, Bench

from sim.card.memory import WRITE_ORDERS

ORDERS = {name: number for number, name in enumerate(WRITE_ORDERS)}


def bench(library, order, **settings):
    return Bench(library, write_order=ORDERS[order], **settings)


def offer(bench, clocks, *channels):
    """Offer a beat and its address, or one of them; the clocks in which each was taken."""
    s, taken = bench.s, {}
    s.awaddr, s.wlast = BASE, 1
    for channel in channels:
        setattr(s, f"{channel}valid", 1)
    for _ in range(clocks):
        moves = [c for c in channels if getattr(s, f"{c}valid") and getattr(s, f"{c}ready")]
        bench.clock()
        for channel in moves:
            taken[channel] = bench.cycle - 1
            setattr(s, f"{channel}valid", 0)
    assert not bench.violation
    return taken


@pytest.mark.parametrize("wait", [0, 7])
@pytest.mark.parametrize("stall", [0, 20000])
@pytest.mark.parametrize("order", WRITE_ORDERS)
def test_all_of_it_is_written(library, order, stall, wait):
    memory = bench(library, order, write_wait=wait, stall=stall, seed=7)
    bursts = [(BASE + 4096 * k + BEAT * k, 1 + 9 * k % 40) for k in range(15)]
    beats = sum(count for _, count in bursts)
    data = np.random.default_rng(3).integers(0, 256, (beats, BEAT), np.uint8)
    expected, rest = memory.bytes.copy(), data
    for address, count in bursts:
        expected[address - BASE :][: count * BEAT] = rest[:count].reshape(-1)
        rest = rest[count:]
    answers = memory.write_all(bursts, [bytes(word) for word in data])
    assert (memory.bytes == expected).all()
    assert {response for _, response in answers} == {0}


def test_what_waits_for_what(library):
    """Clocks in which an address is taken alone, data alone, and both together."""
    for order, address, data, both in (
        ("address", {"aw": 0}, {}, {"aw": 0, "w": 1}),
        ("together", {}, {}, {"aw": 1, "w": 2}),
        ("data", {}, {"w": 0}, {"w": 0, "aw": 1}),
    ):
        for expected, channels in ((address, ["aw"]), (data, ["w"]), (both, ["aw", "w"])):
            assert offer(bench(library, order), 300, *channels) == expected, (order, channels)


@pytest.mark.parametrize("wait", [1, 200])
def test_each_waits(library, wait):
    """From the clock in which it is offered, and where one waits for the other, both at once."""
    for order, expected in (
        ("address", {"aw": wait, "w": wait + 1}),
        ("together", {"aw": wait, "w": wait + 1}),
        ("data", {"w": wait, "aw": wait + 1}),
    ):
        got = offer(bench(library, order, write_wait=wait), 2 * wait + 10, "aw", "w")
        assert got == expected, order


def test_only_the_first_beat_waits(library):
    memory = bench(library, "address", write_wait=50)
    answers = memory.write_all([(BASE, 16), (BASE + 4096, 16)], [bytes(BEAT)] * 32)
    assert answers[-1][0] < 3 * 50 + 32 + 10 + 6


def test_data_that_is_not_of_its_address(library):
    memory = bench(library, "data")
    memory.s.awaddr, memory.s.awlen, memory.s.awvalid = BASE, 1, 1
    memory.s.wvalid = memory.s.wlast = 1
    memory.clock()
    memory.s.wvalid = 0
    memory.clock()
    assert "W: last must be on beat 2, not 1" in memory.violation
    memory = bench(library, "data")
    memory.s.wvalid = 1
    for _ in range(64):
        memory.clock()
        assert not memory.violation
    memory.clock()
    assert "W: last must come within 4096 bytes" in memory.violation


def test_a_pause_inside_a_burst_whose_address_comes_later(library):
    memory = bench(library, "data")
    memory.s.wvalid = 1
    memory.clock()
    memory.s.wvalid = 0
    memory.clock()
    assert "W: valid must not pause inside a burst" in memory.violation
