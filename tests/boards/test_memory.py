"""Which bank a kernel's buffers lie in: what is on chip never grows."""

import numpy as np
import pytest

import boards
from boards.memory import banks
from host.advantages.estimator import AdvantageEstimator
from host.advantages.standardization import Standardization
from host.cards import CapacityError, open_card
from hw.fa3c.config import Fa3cConfig
from sim.card.memory import Bank
from tests.boards.vendor import described


def names(design, board, **settings):
    return [bank.name for bank in banks(described(design, board, **settings), boards.get(board))]


@pytest.mark.parametrize(
    "design, settings, expected",
    [
        # 64 rows: 1025 slots of 576 bytes in operands, of 128 bytes in results: 145 and 33 pages.
        ("gae", {}, ["URAM"]),
        ("gae", {"rows": 128}, ["DDR_LOW"]),
        # 1248 slots of 576 and of 256 bytes: 176 and 78 pages, and two more; then one more.
        ("gae", {"gae.depth": 1247, "gae.result_width": 16}, ["URAM"]),
        ("gae", {"gae.depth": 1248, "gae.result_width": 16}, ["DDR_LOW"]),
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


@pytest.mark.parametrize(
    "board, local_masters, expected",
    [
        ("u200", 2, ["DDR[1]", "DDR[0]", "DDR[2]", "DDR[3]", "DDR[3]"]),
        ("u200", 8, ["DDR[1]", "DDR[0]", "DDR[2]", *["DDR[3]"] * 8]),
        ("u50", 8, [f"HBM[{number}]" for number in range(11)]),
        ("zcu106", 4, ["DDR_LOW", *["DDR_HIGH"] * 6]),
    ],
)
def test_theta_and_squares_have_banks_of_their_own(board, local_masters, expected):
    """Where there are as many: after the host's come theta's and that of its squares."""
    masters = {"global_masters": 2, "local_masters": local_masters}
    assert names("a3c", board, **masters) == expected


def test_local_masters_share_banks_evenly():
    """Each has as many bytes, and is read as often."""
    found = names("a3c", "u200", local_masters=8)
    assert found == ["DDR[1]", "DDR[0]", *["DDR[2]", "DDR[3]"] * 4]


def test_every_master_has_room_for_its_buffers():
    """Rollouts of so many steps are more than a bank of HBM, on each local master."""
    description = described("a3c", "u50", steps=32, agents=256, batch=8, local_masters=2)
    found = banks(description, boards.get("u50"))
    assert [bank.name for bank in found] == ["HBM[0]", "HBM[1]", "HBM[2:3]", "HBM[4:5]"]
    config = Fa3cConfig.from_dict(description.config)
    assert 256 << 20 < config.local_bytes <= found[-1].size


@pytest.fixture
def estimator(tmp_path):
    """Of a kernel whose buffers fit to the last page, on card model with the memory that the board
    gives it."""
    description = described("gae", "zcu106", **{"gae.depth": 1247, "gae.result_width": 16})
    (bank,) = banks(description, boards.get("zcu106"))
    assert bank.name == "URAM"
    (tmp_path / "kernel.json").write_text(description.to_json())
    with open_card("model", banks=[Bank(bank.name, bank.size)]) as card:
        kernel = card.load(tmp_path / "kernel.json")
        kernel.check()
        ways = Standardization(rewards="raw", values="raw")
        yield AdvantageEstimator(kernel, ways, by_programs=True)


def estimate(estimator, steps, environments=64):
    random = np.random.default_rng(steps)
    rewards, values, bootstraps = random.normal(size=(3, steps, environments))
    never = np.zeros((steps, environments), bool)
    return estimator.estimate(rewards, values, never, never, bootstraps)


def test_rollouts_of_any_size_lie_in_the_same_buffers(estimator):
    for steps in (1, 20, 600, 1247):
        advantages = estimate(estimator, steps).advantages
        assert advantages.shape == (steps, 64) and np.ptp(advantages) > 0
        pages = {name: b.size // 4096 for name, b in estimator.launcher._buffers.items()}
        assert pages == {"program": 1, "status": 1, "operands": 176, "results": 78}


def test_a_buffer_that_does_not_fit_on_chip(estimator):
    """Operands of a program of one's own; the message is that of every bank."""
    message = r"at most 1048576 bytes for operands \(bank URAM of 1024 KB, 0 bytes used\), not"
    with pytest.raises(CapacityError, match=message):
        estimator.launcher.run([], [(0, np.zeros((1 << 20) + 1, np.uint8))])
