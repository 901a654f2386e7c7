"""hw.shell.read_engine, for all time (PDR): its credits never exceed its queue, so R has room.

A queue of 3 beats, bursts of 2, addresses of 8 beats and requests of up to 7.
"""

import pytest
from formal.engine_top import ReadTop
from formal.narrow import narrow
from formal.prove import Refuted, planted
from later import later

from hw.shell.axi import EngineConfig
from hw.shell.read_engine import ReadEngine

SMALL = EngineConfig(data_width=32, depth=3, burst_beats=2, bursts=2)
CREDITS = ["credits_within_depth", "r_has_room", "ar_is_stable"]


def test_credits(prove, monkeypatch):
    narrow(monkeypatch)
    prove(ReadTop(ReadEngine(SMALL)), only=CREDITS)


@pytest.mark.long
def test_all(prove, monkeypatch):
    """Its bursts are those of the requests, beats come in order, ``busy`` is right, AR soon."""
    narrow(monkeypatch)
    prove(ReadTop(ReadEngine(SMALL)), seconds=400)


@pytest.mark.parametrize(
    "old, new, name",
    [
        ("credits >= burst.p.beats", "credits != 0", "credits_within_depth"),
        later(
            "self.ar.valid.eq(burst.valid & enough)",
            "self.ar.valid.eq(burst.valid)",
            "credits_within",
        ),
        later("- Mux(issue, burst.p.beats, 0) + leave", "+ leave", "credits_within_depth"),
        later("queue.i.p.error.eq(self.r.p.resp != 0)", "queue.i.p.error.eq(0)", "beats_in_order"),
        later("burst.ready.eq(self.ar.ready & enough)", "burst.ready.eq(enough)", "bursts_are"),
    ],
    ids=["credits", "no_credit", "free", "error", "burst_lost"],
)
def test_finds(prove, monkeypatch, old, new, name):
    narrow(monkeypatch)
    engine = planted("hw.shell.read_engine", old, new).ReadEngine(SMALL)
    with pytest.raises(Refuted, match=f"does not hold: .*{name}"):
        names = [n for n in (*CREDITS, "beats_in_order", "bursts_are_the_requests") if name in n]
        prove(ReadTop(engine), only=names, trace=False)
