"""hw.shell.write_engine, for all time (PDR): a burst is offered when its beats are there, and W
follows, whatever AWREADY does (hw_core 4).

A queue of 2 beats, bursts of 2, addresses of 8 beats and requests of up to 7. Two properties are
not closed for all time: see docs/proofs.md.
"""

import pytest
from formal.engine_top import WriteTop
from formal.narrow import narrow
from formal.prove import Refuted, planted
from later import later

from hw.shell.axi import EngineConfig
from hw.shell.write_engine import WriteEngine

SMALL = EngineConfig(data_width=32, depth=2, burst_beats=2, bursts=2)
CREDITS = [
    "offered_beats_are_here",
    "w_follows_the_offer",
    "w_not_before_the_offer",
    "aw_is_stable",
]


def test_credits(prove, monkeypatch):
    narrow(monkeypatch)
    prove(WriteTop(WriteEngine(SMALL)), only=CREDITS)


@pytest.mark.parametrize("name", ["beats_in_order", later("last_is_of_its_burst")])
def test_beats(prove, monkeypatch, name):
    narrow(monkeypatch)
    prove(WriteTop(WriteEngine(SMALL)), only=[name])


@pytest.mark.long
def test_streams(prove, monkeypatch):
    narrow(monkeypatch)
    names = ["w_is_stable", "done_is_stable", "busy_while_tokens_are_owed"]
    prove(WriteTop(WriteEngine(SMALL)), only=names)


@pytest.mark.long
@pytest.mark.parametrize("name", ["bursts_are_the_requests", "a_token_a_request"])
def test_first_clocks(prove, monkeypatch, name):
    """Bounded: the first 7 clocks, a request and its token among them."""
    narrow(monkeypatch)
    prove(WriteTop(WriteEngine(SMALL)), only=[name], engine="bmc", depth=7, seconds=500)


@pytest.mark.parametrize(
    "old, new, name",
    [
        ("(free >= burst.p.beats)", "(free != 0)", "offered_beats_are_here"),
        later("- Mux(claim, burst.p.beats, 0) + enter", "+ enter", "offered_beats_are_here"),
        later(
            "lengths.i.valid.eq(claim)", "lengths.i.valid.eq(burst.ready)", "w_follows_the_offer"
        ),
        later(
            "valid.eq(queue.o.valid & lengths.o.valid)",
            "valid.eq(queue.o.valid)",
            "w_not_before_the_offer",
        ),
        later("sent == lengths.o.payload", "sent == 1", "last_is_of_its_burst"),
        later("queue.o.ready.eq(move)", "queue.o.ready.eq(1)", "beats_in_order"),
    ],
    ids=["credits", "free", "waits", "early", "last", "lost"],
)
def test_finds(prove, monkeypatch, old, new, name):
    narrow(monkeypatch)
    engine = planted("hw.shell.write_engine", old, new).WriteEngine(SMALL)
    with pytest.raises(Refuted, match=f"does not hold: .*{name}"):
        prove(WriteTop(engine), only=[name], trace=False)


@pytest.mark.long
@pytest.mark.parametrize(
    "old, new, name",
    [
        (
            "burst.ready.eq(self.aw.valid & self.aw.ready)",
            "burst.ready.eq(self.aw.valid)",
            "bursts_are_the_requests",
        ),
        ("bad.eq(failed | (self.b.p.resp != 0))", "bad.eq(failed)", "a_token_a_request"),
        ("queue.o.ready.eq(move)", "queue.o.ready.eq(1)", "w_is_stable"),
        ("with m.If(self.done.ready):", "with m.If(1):", "done_is_stable"),
        ("| answers.o.valid |", "|", "busy_while_tokens_are_owed"),
    ],
    ids=["burst", "failed", "data", "token", "busy"],
)
def test_finds_in_the_first_clocks(prove, monkeypatch, old, new, name):
    narrow(monkeypatch)
    engine = planted("hw.shell.write_engine", old, new).WriteEngine(SMALL)
    with pytest.raises(Refuted, match=f"does not hold: .*{name}"):
        prove(WriteTop(engine), only=[name], engine="bmc", depth=10, seconds=300)
