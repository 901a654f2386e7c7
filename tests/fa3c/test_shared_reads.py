"""hw.fa3c.shared_reads by hand; hw.fa3c.round_clocks, which stands on it, against every kept rate
of whole periods on the Verilog."""

import pytest

from bench.fa3c import alternatives, banks, own_theta, rounds, sharing
from bench.results import kept
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.round_clocks import period_clocks
from hw.fa3c.shared_reads import PassReads, TaskReads, shared_times
from hw.fa3c.sharing import schedule_of

#: Inferences a second on the Verilog by case, of the latest measurement. Slower memory than is
#: assumed is left out.
MEASURED = {
    each["case"]: each["value"]
    for measurement in kept("fa3c")
    for each in measurement["rows"]
    if each["metric"] == "ips" and "Verilog" in each["source"] and "0.75" not in each["case"]
}
#: Their settings, agents, size of groups, and sharing.
CASES = {
    "2 pairs of 64 PEs, 16 agents": (rounds.PAIRS, 16, None, "a3c"),
    "2 pairs of 64 PEs, 1 agent": (rounds.PAIRS, 1, None, "a3c"),
    "2 pairs of 128 PEs, theta and squares apart, 32 agents": (banks.SETTINGS, 32, None, "a3c"),
    own_theta.case_of(own_theta.MEASURED, 16, 1): (
        own_theta.KERNELS[own_theta.MEASURED], 16, 1, "a3c",
    ),
    "one pair of 64 PEs, ga3c, 4 agents, 5 steps": (
        sharing.settings_of("ga3c", 4), 4, None, "ga3c",
    ),
    **{
        f"Figure 10: {case}, {agents} agents": (settings, agents, None, "a3c")
        for case, settings in alternatives.CASES.items()
        for agents in alternatives.MEASURED
    },
}  # fmt: skip


def task(*passes, ready=0):
    return TaskReads(ready, tuple(PassReads(*each) for each in passes))


COMPUTE, READ = (1000, 0, False), (1000, 1000, False)


@pytest.mark.parametrize(
    "queues, ends",
    [
        # Two units read a row a clock each; a third takes a share of it from both.
        ([[task(READ)]] * 2, [[1000], [1000]]),
        ([[task(READ)]] * 3, [[1500], [1500], [1500]]),
        ([[task(READ)]] * 4, [[2000]] * 4),
        # One that asks for less than its share has that, and leaves the rest to the others.
        ([[task(READ)], [task(READ)], [task((1000, 500, False))]], [[1250], [1250], [1000]]),
        # Rows that are in the ring when others begin to read: 100 of them.
        (
            [[task(COMPUTE, READ)]] + [[task(READ, ready=1000)]] * 3,
            [[2800], [2950], [2950], [2950]],
        ),
        # Rows that stay in the ring leave no room in it for those of the next pass.
        ([[task((1000, 100, True), READ)]] + [[task(READ, ready=1000)]] * 2, [[2500]] * 3),
        # A unit that waits reads when it begins, and the second task after the first.
        (
            [[task(READ), task(READ)], [task(READ)], [task(READ, ready=3000)]],
            [[1000, 2000], [1000], [4000]],
        ),
    ],
)
def test_by_hand(queues, ends):
    found = shared_times(queues, ring=100, port=1, capacity=2)
    assert [[begin + times[-1] for begin, times in unit] for unit in found] == ends


def test_every_measured_rate_is_compared():
    assert CASES.keys() == MEASURED.keys()


@pytest.mark.parametrize("case", CASES)
def test_to_half_a_percent(case):
    settings, agents, size, how = CASES[case]
    config = Fa3cConfig(**settings)
    schedule = schedule_of(config, agents, size, how)
    clocks = sum(period_clocks(config, schedule))
    ips = rounds.ips_of(schedule.active, clocks, schedule.steps)
    assert ips == pytest.approx(MEASURED[case], rel=0.005)
