"""hw.fa3c.round_clocks against every kept rate of whole periods on the Verilog."""

import pytest

from bench.fa3c import alternatives, banks, own_theta, rounds, sharing
from bench.results import kept
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.round_clocks import period_clocks
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
