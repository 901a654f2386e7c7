"""The space of gae: clocks of whole launches, in which transfers decide."""

import json
from pathlib import Path

import pytest

import boards
from boards.explore import explore
from hw.config import with_values
from hw.designs import DESIGNS

ROOT = Path(__file__).parents[2]


def search(board):
    design, board = DESIGNS["gae"], boards.get(board)
    return explore(design, board, design.default(board.numbers))


@pytest.mark.parametrize("board, width", [("zcu106", 128), ("u200", 512)])
def test_gae_is_timed_with_its_transfers(board, width):
    """As the bench measured a launch of the whole kernel, to the clock."""
    rows = json.loads((ROOT / "docs/results/gae.json").read_text())
    case = f"64 x 1024 steps, k=2, whole kernel, port of {width} bits"
    [measured] = [
        row["value"]
        for each in rows
        for row in each["rows"]
        if (row["case"], row["metric"]) == (case, "kernel_cycles")
    ]
    space, numbers = DESIGNS["gae"].space, boards.get(board).numbers
    sizes = {"gae.rows": 64, "gae.depth": 1024, "gae.lookahead": 2}
    config = with_values(DESIGNS["gae"].default(numbers), sizes)
    assert space.clocks(config, 64) == measured
    assert space.clocks(config, 65) == 2 * measured


def test_further_rows_of_gae_wait_for_the_port():
    """A launch of 64 rows takes nearly as long as two of 32: a port of 128 bits decides."""
    found = search("zcu106")
    clocks = {tuple(point.values.values()): point.clocks for point in found.points}
    assert clocks[64, 3] < clocks[32, 3] < 1.03 * clocks[64, 3]
    wider = {tuple(p.values.values()): p.clocks for p in search("u200").points}
    assert wider[32, 3] > 1.3 * wider[64, 3]
