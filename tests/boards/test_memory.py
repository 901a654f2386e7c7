"""Which bank a kernel's buffers lie in: of what fits on chip, none outgrows it."""

import numpy as np
import pytest

import boards
from boards.memory import banks
from host.card import CapacityError, open_card
from host.runtime.gae import AdvantageEstimator
from host.runtime.standardize import Standardization
from sim.card.memory import Bank
from tests.boards.vendor import described


def names(design, board, **settings):
    return [bank.name for bank in banks(described(design, board, **settings), boards.get(board))]


@pytest.mark.parametrize(
    "design, settings, expected",
    [
        # 64 rows: 1025 slots of 576 bytes in operands, as a buffer of 1 MB.
        ("gae", {}, ["DDR_LOW"]),
        ("gae", {"rows": 16}, ["URAM"]),
        ("gae", {"rows": 32}, ["DDR_LOW"]),
        # 455 slots of 576 bytes are 256 KB less 64 bytes.
        ("gae", {"gae.depth": 454}, ["URAM"]),
        ("gae", {"gae.depth": 455}, ["DDR_LOW"]),
        ("replay", {}, ["DDR_LOW", "DDR_HIGH"]),
        # Storage is a master's of its own, and stays in memory that it may grow in.
        ("replay", {"capacity": 64, "fanout": 4}, ["DDR_LOW", "DDR_HIGH"]),
    ],
)
def test_banks(design, settings, expected):
    assert names(design, "zcu106", **settings) == expected


def test_boards_without_memory_that_is_shared():
    assert names("gae", "u200", rows=1) == ["DDR[1]"]
    assert names("gae", "u50", rows=1) == ["HBM[0]"]


@pytest.fixture
def estimator(tmp_path):
    """Of the largest kernel whose buffers fit, results as large as they come, on card model with
    the memory that the board gives it."""
    description = described("gae", "zcu106", **{"gae.rows": 16, "gae.result_width": 32})
    (bank,) = banks(description, boards.get("zcu106"))
    assert bank.name == "URAM"
    (tmp_path / "kernel.json").write_text(description.to_json())
    with open_card("model", banks=[Bank(bank.name, bank.size)]) as card:
        kernel = card.load(tmp_path / "kernel.json")
        kernel.check()
        yield AdvantageEstimator(kernel, Standardization(rewards="raw", values="raw"))


def estimate(estimator, steps, environments=16):
    random = np.random.default_rng(steps)
    rewards, values, bootstraps = random.normal(size=(3, steps, environments))
    never = np.zeros((steps, environments), bool)
    return estimator.estimate(rewards, values, never, never, bootstraps)


def test_buffers_that_grow_stay_on_chip(estimator):
    """Rollouts double, and with each all buffers; what they leave is in pieces."""
    for steps in (1, 20, 40, 100, 200, 400, 800, 1024):
        advantages = estimate(estimator, steps).advantages
        assert advantages.shape == (steps, 16) and np.ptp(advantages) > 0
    largest = 1 << 18
    assert {b.size for b in estimator.launcher._buffers.values()} == {4096, largest}


def test_a_buffer_that_does_not_fit_on_chip(estimator):
    """Operands of a program of one's own; the message is that of every bank."""
    message = r"at most 1048576 bytes for operands \(bank URAM of 1024 KB, 0 bytes used\), not"
    with pytest.raises(CapacityError, match=message):
        estimator.launcher.run([], [(0, np.zeros((1 << 20) + 1, np.uint8))])
