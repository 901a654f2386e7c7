"""sample_reader of ``td3``: which network has which numbers of an experience in each sweep and in
an ACT, and for which of them scalars come.

An experience is here in words 0 to 15: HEADER, obs at 4, next_obs at 7, action at 10, reward and
discount at 12 and 13. Each word of the memory is its own address, as a normal number.
"""

import pytest
from amaranth.sim import Simulator

from hw.learner.config import LearnerConfig
from hw.learner.samples.sample_reader import SampleReader

SAMPLES, ONE = 2, 0x3F80_0000
SIZES = dict(observation=3, action=2, hidden=(4,), multipliers=2, batch=4)
#: (word, index of the input, data paths that take it) of an experience, and the last word.
OBS = [(4, 0, 1), (5, 1, 1), (6, 2, 1)]
NEXT = [(7, 0, 1), (8, 1, 1), (9, 2, 1)]
CRITIC = [*OBS, *((word, index, 2) for word, index, _ in NEXT), (10, 3, 1), (11, 4, 1)]
FIRST = dict(actor=(NEXT, 9), critic=(CRITIC, 11), critic_2=(CRITIC, 11))
SECOND = dict(actor=(OBS, 6), critic=(OBS, 6), critic_2=([], None))
#: Observations have no header, and lie in four words each.
ACT = dict(actor=([(0, 0, 1), (1, 1, 1), (2, 2, 1)], 2), critic=([], None), critic_2=([], None))
CASES = {
    "first": (0, 0, FIRST, {"critic", "critic_2"}, 16),
    "second": (1, 0, SECOND, {"critic"}, 16),
    "act": (1, 1, ACT, set(), 4),
}


def read(unit, sweep, acting):
    """``(fed, scalars)`` of a batch: numbers by network, scalars by network."""
    fed, scalars = {name: [] for name in unit.feeds}, {name: [] for name in unit.scalars}

    async def bench(context):
        for port, value in ((unit.sweep, sweep), (unit.acting, acting), (unit.samples, SAMPLES)):
            context.set(port, value)
        for stream in (*unit.feeds.values(), *unit.scalars.values()):
            context.set(stream.ready, 1)
        context.set(unit.room, 1)
        context.set(unit.start, 1)
        for _ in range(60):
            address = context.get(unit.address[0])
            await context.tick()
            context.set(unit.start, 0)
            context.set(unit.words[0][0], ONE + address)
            for name, stream in unit.feeds.items():
                if context.get(stream.valid):
                    [number] = context.get(stream.p.numbers)
                    word = number.value[0] - ONE, number.index, number.mask
                    fed[name].append((*word, context.get(stream.p.last)))
            for name, stream in unit.scalars.items():
                if context.get(stream.valid):
                    [given] = context.get(stream.payload)
                    scalars[name].append(
                        [given[x] - ONE for x in ("index", "weight", "action", "reward")]
                        + [given.discount - ONE]
                    )

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return fed, scalars


@pytest.mark.parametrize("case", CASES)
def test_what_networks_have(case):
    sweep, acting, wanted, losses, size = CASES[case]
    unit = SampleReader(LearnerConfig(algorithm="td3", **SIZES), 64, 4)
    fed, scalars = read(unit, sweep, acting)
    for name, (words, last) in wanted.items():
        assert fed[name] == [
            (size * sample + word, index, mask, word == last)
            for sample in range(SAMPLES)
            for word, index, mask in words
        ], name
    for name, found in scalars.items():
        own = [[16 * k + word for word in (0, 2, 10, 12, 13)] for k in range(SAMPLES)]
        assert found == (own if name in losses else []), name


@pytest.mark.parametrize("sweep", range(2))
def test_samples_wait_for_losses_of_their_sweep_only(sweep):
    """No scalars are taken here: two samples may have some. In a sweep without its loss a network
    holds up none."""
    unit, begun = SampleReader(LearnerConfig(algorithm="td3", **SIZES), 64, 2), []

    async def bench(context):
        for port, value in ((unit.sweep, sweep), (unit.samples, 4), (unit.room, 1)):
            context.set(port, value)
        for stream in unit.feeds.values():
            context.set(stream.ready, 1)
        context.set(unit.scalars["critic"].ready, sweep)
        context.set(unit.start, 1)
        for _ in range(90):
            begun.append(context.get(unit.begun))
            await context.tick()
            context.set(unit.start, 0)

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert sum(begun) == (4 if sweep else 2)
