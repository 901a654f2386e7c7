"""hw.stream.queue, for all time: no word lost, doubled, changed or out of order; its level right.

The engine is PDR: no depth. Both kinds of memory, and depths that are no power of two.
"""

import pytest
from formal.prove import Refuted, planted
from formal.stream_top import StreamTop
from later import later

from hw.stream.queue import Queue

WIDTH = 2


def top(queue, depth, latency):
    return StreamTop(queue(WIDTH, depth), depth, latency, level=True)


@pytest.mark.parametrize("depth", [1, later(2), 3])
def test_shallow(prove, depth):
    prove(top(Queue, depth, 1))


@pytest.mark.parametrize("depth", [later(2), 3])
def test_deep(prove, monkeypatch, depth):
    """A queue in a ``Ram``, made less deep than any that is built."""
    monkeypatch.setattr("hw.stream.queue.SHALLOW", 1)
    prove(top(Queue, depth, 2))


@pytest.mark.parametrize(
    "old, new, name",
    [
        # A word too many, over one that still stands there.
        ("self.i.ready.eq(self.level != self.depth)", "self.i.ready.eq(1)", "ready_unless_full"),
        # The word on show is overwritten by the next before it was taken: lost.
        ("(~self.o.valid | self.o.ready)", "1", "in_order|o_is_stable"),
        # The word on show stays after it was taken: doubled.
        later("with m.Elif(self.o.ready):", "with m.Elif(self.o.ready & 0):", "in_order"),
        # Each word is written over the one that leaves next.
        later("ram.write_address.eq(produce)", "ram.write_address.eq(consume)", "in_order"),
        # A fetch of the word that is being written, of which the memory promises nothing.
        later("fetch.eq((stored != 0)", "fetch.eq(((stored != 0) | put)", "in_order"),
        later("self.level + put - get", "self.level + (put & ~get) - get", "level_is_count|ready"),
    ],
    ids=["overflow", "lost", "doubled", "reordered", "collision", "level"],
)
def test_finds_deep(prove, old, new, name):
    module = planted("hw.stream.queue", old, new)
    module.SHALLOW = 1
    with pytest.raises(Refuted, match=f"does not hold: .*({name})"):
        prove(top(module.Queue, 3, 2), engine="bmc", depth=12)
