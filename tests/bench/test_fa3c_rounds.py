"""bench.fa3c.rounds: bytes of a measured period."""

import pytest

from bench.fa3c.rounds import CLOCK, Measured


def test_bytes_by_direction_and_by_bank():
    moved = {("host", "R"): 10, ("host", "W"): 20, ("global", "R"): 4, ("global", "W"): 0}
    found = Measured(agents=1, clocks=int(CLOCK) // 2, moved=moved, statuses=[])
    assert (found.all_bytes("R"), found.all_bytes("W")) == (14, 20)
    assert found.bank_rates() == pytest.approx({"host": 60, "global": 8})
