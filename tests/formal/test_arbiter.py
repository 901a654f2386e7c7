"""hw.shell.arbiter, for all time (PDR): two ports, bursts of one beat."""

import pytest
from formal.interconnect_top import ArbiterTop
from formal.narrow import narrow
from formal.prove import Refuted, planted

from hw.shell.arbiter import Arbiter
from hw.shell.interconnect import InterconnectConfig

CONFIG = InterconnectConfig(data_width=32, depth=2, burst_beats=1, bursts=2, tokens=1)
CREDITS = [
    *(f"{rule}_{n}" for rule in ("burst_has_its_credits", "last_has_its_token") for n in (0, 1)),
    "port_is_the_requests_0",
    "port_is_the_requests_1",
    "o_is_stable",
]


def top(arbiter, bound=6):
    return ArbiterTop(arbiter(CONFIG, [2, 2], 1), bound)


def test_credits(prove, monkeypatch):
    narrow(monkeypatch)
    prove(top(Arbiter), only=CREDITS)


@pytest.mark.parametrize(
    "old, new, name",
    [
        ("(credits >= burst.p.beats)", "1", "burst_has_its_credits_0"),
        ("credits - Mux(go, burst.p.beats, 0)", "credits", "burst_has_its_credits_1"),
        ("(tokens != 0)", "1", "last_has_its_token_0"),
        ("advance.eq(~self.o.valid | self.o.ready)", "advance.eq(1)", "o_is_stable"),
        ("out.port.eq(chosen)", "out.port.eq(latest)", "port_is_the_requests_0"),
    ],
    ids=["credits", "free", "tokens", "unstable", "port"],
)
def test_finds(prove, monkeypatch, old, new, name):
    narrow(monkeypatch)
    with pytest.raises(Refuted, match=f"does not hold: .*{name}"):
        prove(top(planted("hw.shell.arbiter", old, new).Arbiter), only=[name])
