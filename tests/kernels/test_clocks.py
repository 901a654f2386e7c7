"""Every design says what its operations take; tests of each design hold the numbers to the RTL."""

import pytest

import boards
from hw.designs import DESIGNS


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("board", ["u200", "ulx3s"])
def test_a_design_has_clocks(name, board):
    """Of what a board has by default, large and small."""
    design = DESIGNS[name]
    found = design.clocks(design.default(boards.get(board).numbers))
    assert found
    for operation, clocks in found.items():
        assert type(clocks) is int and clocks > 0, operation
