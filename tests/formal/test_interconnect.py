"""hw.shell.interconnect, for all time (PDR): each port gets its beats, in order, none lost.

Two ports, queues of 2 beats, bursts of one beat, of which 2 may be under way; requests of one beat,
in the long tests of up to 7.
"""

import pytest
from formal.interconnect_top import ReadsTop, WritesTop
from formal.narrow import narrow
from formal.prove import Refuted, planted
from later import later

from hw.shell.interconnect import InterconnectConfig, ReadInterconnect, WriteInterconnect

CONFIG = InterconnectConfig(data_width=32, depth=2, burst_beats=1, bursts=2, tokens=1)
BOTH = (0, 1)


def of_ports(*names):
    return [f"{name}_{port}" for name in names for port in BOTH]


READ_CREDITS = ["memory_never_waits", "bursts_are_remembered", *of_ports("credits_within_depth")]
WRITE_CREDITS = [
    *("memory_never_waits", "bursts_are_remembered", "data_at_once", "data_after_its_request"),
    *of_ports("announced_beats_are_here"),
]


def reads(unit=ReadInterconnect):
    return ReadsTop(unit(CONFIG))


def writes(unit=WriteInterconnect):
    return WritesTop(unit(CONFIG))


@pytest.mark.parametrize(
    "make, names",
    [
        later(reads, READ_CREDITS),
        (reads, of_ports("beats_in_order", "data_is_stable")),
        pytest.param(reads, of_ports("bursts_are_the_requests"), marks=pytest.mark.long),
        pytest.param(writes, WRITE_CREDITS, marks=pytest.mark.long),
        pytest.param(writes, of_ports("beats_in_order"), marks=pytest.mark.long),
        pytest.param(writes, of_ports("bursts_are_the_requests"), marks=pytest.mark.long),
        pytest.param(writes, ["a_token_a_request_0"], marks=pytest.mark.long),
    ],
    ids="read_credits read_order read_requests write_credits write_order write_requests "
    "write_tokens".split(),
)
def test_requests_of_a_beat(prove, monkeypatch, make, names):
    narrow(monkeypatch, beats_width=1)
    prove(make(), only=names, seconds=500)


@pytest.mark.long
@pytest.mark.parametrize(
    "make, names",
    [
        (reads, READ_CREDITS),
        (reads, of_ports("beats_in_order", "data_is_stable")),
        (writes, of_ports("beats_in_order")),
    ],
    ids=["read_credits", "read_order", "write_order"],
)
def test_long_requests(prove, monkeypatch, make, names):
    narrow(monkeypatch)
    prove(make(), only=names, seconds=500)


@pytest.mark.parametrize(
    "old, new, name",
    [
        later(
            "queue.i.valid.eq(beat.valid & own)", "queue.i.valid.eq(beat.valid)", "beats_in_order_0"
        ),
        later(
            "own = owners.o.valid & (owners.o.payload == number)",
            "own = owners.o.valid & (owners.o.payload != number)",
            "beats_in_order_1",
        ),
        (
            "arbiter.credit[number].eq(queue.o.valid & queue.o.ready)",
            "arbiter.credit[number].eq(queue.o.valid)",
            "credits_within_depth_0",
        ),
        later(
            "burst.ready.eq(request.ready & room)",
            "burst.ready.eq(room)",
            "bursts_are_the_requests_0",
        ),
    ],
    ids=["doubled", "swapped", "credits", "request"],
)
def test_finds_in_reads(prove, monkeypatch, old, new, name):
    narrow(monkeypatch, beats_width=1)
    unit = planted("hw.shell.interconnect", old, new).ReadInterconnect
    with pytest.raises(Refuted, match=f"does not hold: .*{name}"):
        prove(reads(unit), only=[name], trace=False)


@pytest.mark.parametrize(
    "old, new, name",
    [
        later(
            "queue.o.ready.eq(owners.o.valid & beat.ready)",
            "queue.o.ready.eq(beat.ready)",
            "beats_in_order_0",
        ),
        (
            "arbiter.credit[number].eq(queue.i.valid & queue.i.ready)",
            "arbiter.credit[number].eq(queue.i.valid)",
            "announced_beats_are_here_1",
        ),
        later(
            "burst.ready.eq(request.ready & room)",
            "burst.ready.eq(room)",
            "bursts_are_the_requests_0",
        ),
        later("tokens.i.payload.eq(bad)", "tokens.i.payload.eq(0)", "a_token_a_request_0"),
    ],
    ids=["lost", "credits", "request", "token"],
)
def test_finds_in_writes(prove, monkeypatch, old, new, name):
    narrow(monkeypatch, beats_width=1)
    unit = planted("hw.shell.interconnect", old, new).WriteInterconnect
    with pytest.raises(Refuted, match=f"does not hold: .*{name}"):
        prove(writes(unit), only=[name], trace=False)
