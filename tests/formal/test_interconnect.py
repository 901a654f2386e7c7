"""hw.shell.interconnect, for all time (PDR): each port gets its beats, in order, none lost.

Two ports, queues of 2 beats, bursts of one beat, of which 2 may be under way.
"""

import pytest
from formal.interconnect_top import ReadsTop, WritesTop
from formal.narrow import narrow
from formal.prove import Refuted, planted

from hw.shell.interconnect import InterconnectConfig, ReadInterconnect, WriteInterconnect

CONFIG = InterconnectConfig(data_width=32, depth=2, burst_beats=1, bursts=2, tokens=1)
READ_CREDITS = ["memory_never_waits", "credits_within_depth_0", "bursts_are_remembered"]


@pytest.mark.parametrize("port", [0, pytest.param(1, marks=pytest.mark.long)])
def test_reads_in_order(prove, monkeypatch, port):
    narrow(monkeypatch)
    prove(ReadsTop(ReadInterconnect(CONFIG)), only=[f"beats_in_order_{port}"], seconds=300)


@pytest.mark.long
def test_read_credits(prove, monkeypatch):
    narrow(monkeypatch)
    names = [*READ_CREDITS, "credits_within_depth_1"]
    prove(ReadsTop(ReadInterconnect(CONFIG)), only=names, seconds=500)


@pytest.mark.parametrize(
    "old, new, name",
    [
        ("queue.i.valid.eq(beat.valid & own)", "queue.i.valid.eq(beat.valid)", "beats_in_order_0"),
        ("owners.o.valid & (owners.o.payload == number)",
         "owners.o.valid & (owners.o.payload != number)", "beats_in_order_1"),
        ("arbiter.credit[number].eq(queue.o.valid & queue.o.ready)",
         "arbiter.credit[number].eq(queue.o.valid)", "credits_within_depth_0"),
    ],
    ids=["doubled", "swapped", "credits"],
)  # fmt: skip
def test_finds_in_reads(prove, monkeypatch, old, new, name):
    narrow(monkeypatch)
    unit = planted("hw.shell.interconnect", old, new).ReadInterconnect(CONFIG)
    with pytest.raises(Refuted, match=f"does not hold: .*{name}"):
        prove(ReadsTop(unit), only=[name])
