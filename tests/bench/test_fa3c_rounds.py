"""bench.fa3c: bytes of a measured period, and FA3C's Figure 10 as it was measured."""

import pytest

from bench.fa3c import own_theta
from bench.fa3c.alternatives import AGENTS, CASES, MEASURED
from bench.fa3c.rounds import CLOCK, RoundMeasurement, worked_out_ips
from bench.results import Results
from hw.fa3c.config import Fa3cConfig


def test_bytes_by_direction_and_by_bank():
    moved = {("host", "R"): 10, ("host", "W"): 20, ("global", "R"): 4, ("global", "W"): 0}
    found = RoundMeasurement(agents=1, clocks=int(CLOCK) // 2, moved=moved, statuses=[])
    assert (found.all_bytes("R"), found.all_bytes("W")) == (14, 20)
    assert found.bank_rates() == pytest.approx({"host": 60, "global": 8})


@pytest.mark.parametrize("case", CASES)
def test_figure_10_in_verilog_is_that_of_the_formula(case):
    """Each kernel was simulated with 1, 2 and 4 agents; the others are by formula."""
    found, config = Results.of("fa3c"), Fa3cConfig(**CASES[case])
    for agents in AGENTS:
        name, ips = f"Figure 10: {case}, {agents} agents", worked_out_ips(config, agents)
        assert found.value(name, "ips", source="worked out") == ips
        if agents in MEASURED:
            assert found.value(name, "ips", source="Verilog") == pytest.approx(ips, rel=0.01)


def test_a_theta_of_its_own_each_by_formula():
    """The rows that are kept are today's."""
    found = Results.of("fa3c")
    for wanted in own_theta.worked_out():
        row = found.row(wanted["case"], "ips", source="worked out")
        assert row["value"] == wanted["value"], wanted["case"]
