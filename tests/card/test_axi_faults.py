"""What goes wrong on purpose in sim/card/memory.hpp: answers that fail, channels that stand."""

import numpy as np
import pytest
from card.memory_shim import BASE, BEAT, MASTERS, Bench

from sim.card.memory import CHANNELS, Fault

#: Bursts of 1 to 5 beats, one after the other: 45 beats in all.
BURSTS = [(BASE + 4096 * k + BEAT * k, 1 + k % 5) for k in range(15)]


def fault(channel, kind="error", **fields):
    return Fault(master=MASTERS[0], channel=channel, kind=kind, **fields)


def answers(library, channel, faults, bursts=BURSTS, gap=0.0, **settings):
    """Responses and their clocks: of the beats that ``bursts`` read, or of their writes."""
    bench = Bench(library, faults=faults, **settings)
    if channel == "R":
        _, cycles, responses = bench.read_all(bursts, gap)
    else:
        data = [bytes(BEAT)] * sum(beats for _, beats in bursts)
        cycles, responses = zip(*bench.write_all(bursts, data, gap), strict=True)
    return np.array(responses), np.array(cycles)


def failed(library, channel, faults, **options):
    """Numbers of the answers that say SLVERR; all others say OKAY."""
    responses, _ = answers(library, channel, faults, **options)
    assert {*responses} <= {0, 2}
    return np.flatnonzero(responses).tolist()


@pytest.mark.parametrize("gap, stall", [(0.0, 0), (0.5, 20000)])
@pytest.mark.parametrize("channel", ["R", "B"])
def test_exactly_the_wanted_answers_fail(library, channel, gap, stall):
    """The n-th answer fails and the next is right, however late they are and are taken."""
    last = {"R": 44, "B": 14}[channel]
    for skip, count, expected in (
        (0, 1, [0]),
        (0, 2, [0, 1]),
        (5, 1, [5]),
        (5, 3, [5, 6, 7]),
        (last, 1, [last]),
        (last + 1, 1, []),
        (last - 1, 2**63, [last - 1, last]),
        (last - 1, None, [last - 1, last]),
        (0, None, [*range(last + 1)]),
    ):
        faults = [fault(channel, skip=skip, count=count)]
        options = dict(gap=gap, stall=stall, seed=5)
        assert failed(library, channel, faults, **options) == expected, (skip, count)


@pytest.mark.parametrize("channel", ["R", "B"])
def test_both_errors_of_axi(library, channel):
    """Where both are wished for, it is DECERR, whichever stands first."""
    faults = [
        fault(channel, skip=2, count=3, response="DECERR"),
        fault(channel, skip=1, count=2),
        fault(channel, skip=4, count=2, response="SLVERR"),
    ]
    responses, _ = answers(library, channel, faults)
    assert responses.tolist()[:8] == [0, 2, 3, 3, 3, 2, 0, 0] and not responses[8:].any()


@pytest.mark.parametrize("channel", ["R", "B"])
def test_errors_begin_and_end_on_their_clocks(library, channel):
    """Answers are counted from ``cycle`` on, and before ``until``."""
    _, cycles = answers(library, channel, [])
    first, last = (int(cycles[number]) for number in (4, 9))
    for fields, expected in (
        (dict(cycle=first), range(4, len(cycles))),
        (dict(cycle=first + 1), range(5, len(cycles))),
        (dict(cycle=first, until=last), range(4, 9)),
        (dict(cycle=first, until=last + 1), range(4, 10)),
        (dict(cycle=first, until=first + 1), [4]),
        (dict(cycle=first, skip=2, count=1), [6]),
        (dict(cycle=first, until=last, skip=3, count=9), [7, 8]),
    ):
        assert failed(library, channel, [fault(channel, **fields)]) == [*expected], fields


@pytest.mark.parametrize("cycle, until, response", [(20, 21, 2), (21, 99, 0), (19, 20, 0)])
def test_an_answer_that_waits_stays_as_it_was_shown(library, cycle, until, response):
    bench = Bench(library, faults=[fault("R", cycle=cycle, until=until)])
    bench.s.araddr, bench.s.arvalid = BASE, 1
    bench.clock()
    bench.s.arvalid = 0
    while bench.cycle < 40:
        assert bench.s.rvalid == (bench.cycle >= 20)
        assert not bench.s.rvalid or bench.s.rresp == response
        bench.clock()


@pytest.mark.parametrize("channel", ["R", "B"])
def test_faults_of_one_channel_count_by_themselves(library, channel):
    other = Fault(master=MASTERS[1], channel=channel, kind="error", skip=7)
    beside = fault({"R": "B", "B": "R"}[channel], skip=8)
    faults = [
        other,
        beside,
        *(fault(channel, skip=s, count=c) for s, c in ((1, 1), (1, 2), (4, 1))),
    ]
    assert failed(library, channel, faults) == [1, 2, 4]


def test_errors_of_some_bytes(library):
    """Only beats (R) and bursts (B) that touch them fail, and only those are counted."""
    start = BASE + 4096
    third, fourth = start + 2 * BEAT, start + 3 * BEAT
    bursts = [(start, 2), (start, 3), (fourth, 2), (start, 64), (fourth + BEAT, 1)]
    # Third and fourth beat of the page are the numbers 4 and 9, 5 and 10 of all that are read.
    for address, size, beats, writes in (
        (third, BEAT, [4, 9], [1, 3]),
        (third + BEAT - 1, 1, [4, 9], [1, 3]),
        (third + BEAT - 1, 2, [4, 5, 9, 10], [1, 2, 3]),
        (fourth, 1, [5, 10], [2, 3]),
        (fourth + BEAT, None, [6, *range(11, 72)], [2, 3, 4]),
    ):
        for channel, expected in (("R", beats), ("B", writes)):
            options = dict(address=address, size=size)
            assert failed(library, channel, [fault(channel, **options)], bursts=bursts) == expected
            one = fault(channel, **options, skip=1, count=1)
            assert failed(library, channel, [one], bursts=bursts) == expected[1:2]


@pytest.mark.parametrize("channel", CHANNELS)
def test_stuck_channel_ends(library, channel):
    """Nothing moves from ``cycle`` to before ``until``; everything did before, and does after."""
    moved = Bench(library).traffic(120)
    assert set(range(40, 120)) <= set(moved[channel])
    for until in (50, 60):
        stuck = fault(channel, "stuck", cycle=49, until=until)
        moved = Bench(library, faults=[stuck]).traffic(120)
        assert [c for c in range(40, 120) if c not in moved[channel]] == [*range(49, until)]
    both = [fault(channel, "stuck", cycle=c, until=c + 5) for c in (60, 49)]
    moved = Bench(library, faults=both).traffic(120)
    assert [c for c in range(40, 120) if c not in moved[channel]] == [
        *range(49, 54),
        *range(60, 65),
    ]


def pauses(library, pause, period, **settings):
    """Clocks of a period in which each channel stands still, once all have."""
    moved = Bench(library, pause=pause, period=period, **settings).traffic(12 * period)
    still = {}
    for channel, cycles in moved.items():
        missing = set(range(6 * period, 12 * period)) - set(cycles)
        still[channel] = {cycle % period for cycle in missing}
        assert len(missing) == 6 * len(still[channel])  # the same in every period
    return still


@pytest.mark.parametrize("pause, period", [(1, 7), (7, 50), (30, 50), (49, 50)])
def test_solid_pauses(library, pause, period):
    """Once in every period each channel stands still, for that many clocks in a row."""
    for channel, still in pauses(library, pause, period).items():
        assert len(still) == pause, channel
        begins = [clock for clock in still if (clock - 1) % period not in still]
        assert len(begins) == 1, channel


def test_pauses_differ_by_channel_and_seed(library):
    one, other = (pauses(library, 7, 50, seed=seed) for seed in (1, 2))
    assert len({tuple(sorted(still)) for still in one.values()}) == len(CHANNELS)
    assert one != other and one == pauses(library, 7, 50, seed=1)


def test_no_pause_in_a_period(library):
    assert not any(pauses(library, 0, 50).values())
