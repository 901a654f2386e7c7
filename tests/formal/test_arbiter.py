"""hw.shell.arbiter, for all time (PDR): two ports, bursts of one beat."""

import pytest
from formal.interconnect_top import ArbiterTop
from formal.narrow import narrow
from formal.prove import Refuted, planted
from later import later

from hw.shell.arbiter import Arbiter
from hw.shell.interconnect import InterconnectConfig

CONFIG = InterconnectConfig(data_width=32, depth=2, burst_beats=1, bursts=2, tokens=1)
CREDITS = [
    *(f"{rule}_{n}" for rule in ("burst_has_its_credits", "last_has_its_token") for n in (0, 1)),
    "port_is_the_requests_0",
    "port_is_the_requests_1",
    "o_is_stable",
]


#: Clocks of the arbiter's own way, and a turn of each other port.
BOUND = Arbiter.LATENCY + CONFIG.ports - 1


#: Credits enough for a port to send in every clock, if it is let.
PLENTY = InterconnectConfig(data_width=32, depth=4, burst_beats=1, bursts=2, tokens=4)


def top(arbiter, bound=BOUND, config=CONFIG):
    return ArbiterTop(arbiter(config, [config.depth] * 2, config.tokens), bound)


def test_credits(prove, monkeypatch):
    narrow(monkeypatch)
    prove(top(Arbiter), only=CREDITS)


@pytest.mark.parametrize("config", [CONFIG, later(PLENTY)], ids=["scarce", "plenty"])
def test_every_request_is_granted_within_bound(prove, monkeypatch, config):
    """Requests of a beat that have their credit and token leave within ``BOUND`` clocks in which
    the arbiter could send; they are those that were made, in their order. One less is refuted."""
    narrow(monkeypatch, beats_width=1)
    names = [f"{rule}_{n}" for rule in ("soon_granted", "bursts_are_the_requests") for n in (0, 1)]
    prove(top(Arbiter, config=config), only=names)
    with pytest.raises(Refuted, match="soon_granted"):
        prove(top(Arbiter, BOUND - 1, config), only=names[:2], trace=False)


@pytest.mark.long
@pytest.mark.parametrize("rule", ["soon_granted", "bursts_are_the_requests"])
def test_first_clocks_of_long_requests(prove, monkeypatch, rule):
    """Bounded: the first 8 clocks, for requests of up to 7 beats."""
    narrow(monkeypatch)
    names = [f"{rule}_{n}" for n in (0, 1)]
    prove(top(Arbiter, config=PLENTY), only=names, engine="bmc", depth=8, seconds=500)


@pytest.mark.long
def test_finds_a_lost_burst(prove, monkeypatch):
    narrow(monkeypatch)
    arbiter = planted("hw.shell.arbiter", "burst.ready.eq(go)", "burst.ready.eq(advance)").Arbiter
    with pytest.raises(Refuted, match="bursts_are_the_requests_0"):
        prove(top(arbiter), only=["bursts_are_the_requests_0"], engine="bmc", depth=8)


def test_finds_an_unfair_turn(prove, monkeypatch):
    narrow(monkeypatch, beats_width=1)
    old = "m.d.sync += latest.eq(chosen)"
    arbiter = planted("hw.shell.arbiter", old, "m.d.sync += latest.eq(latest)").Arbiter
    with pytest.raises(Refuted, match="soon_granted_1"):
        prove(top(arbiter, config=PLENTY), only=["soon_granted_1"], trace=False)


@pytest.mark.parametrize(
    "old, new, name",
    [
        ("(credits >= burst.p.beats)", "1", "burst_has_its_credits_0"),
        later("credits - Mux(go, burst.p.beats, 0)", "credits", "burst_has_its_credits_1"),
        later("(tokens != 0)", "1", "last_has_its_token_0"),
        later("advance.eq(~self.o.valid | self.o.ready)", "advance.eq(1)", "o_is_stable"),
        later("out.port.eq(chosen)", "out.port.eq(latest)", "port_is_the_requests_0"),
    ],
    ids=["credits", "free", "tokens", "unstable", "port"],
)
def test_finds(prove, monkeypatch, old, new, name):
    narrow(monkeypatch)
    with pytest.raises(Refuted, match=f"does not hold: .*{name}"):
        prove(top(planted("hw.shell.arbiter", old, new).Arbiter), only=[name], trace=False)
