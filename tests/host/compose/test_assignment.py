"""Algorithm 1 on tables whose answers were computed by hand: pairs of devices, ties and power."""

import pytest

from host.compose.assignment import Sizes, iteration_us, portability
from hw.errors import UsageError
from tests.host.assign_tables import (
    CARD,
    CPU,
    GPU,
    LINKS,
    WATTS,
    WITHOUT_GPU,
    check,
    near,
    totals,
    tried,
)


def test_one_card():
    found = tried(
        CPU | CARD,
        {"cpu0 cpu0": (0.1, 16), "cpu0 card0": (10, 8), "card0 card0": (0.3, 32)},
        {
            "cpu0 apart": (20, 4, 6, 300),
            "cpu0 both": (24, 5, 7, 320),
            "card0 apart": (4, 2, 3, 50),
            "card0 both": (2, 1, 3, 45),
        },
    )
    # 24 + 327, 20 + 56, 4 + 303, 2 + 48
    assert totals(found) == {
        "cpu0 cpu0": 351, "cpu0 card0": 76, "card0 cpu0": 307, "card0 card0": 50
    }  # fmt: skip
    # On the card: 3072 bytes at 32 GB/s, 1280 at 8; on the cpu 3072 at 8, 1280 at 16.
    check(found, "card0", "card0", "card0", 50, 1_280_000, 0.096 + 0.16)
    # 4 * 64 / (351 + 76 + 307 + 50) us
    assert found.portability == near(256e6 / 784) and not found.refused


def test_no_accelerator():
    """A machine without a GPU and without a card."""
    found = tried(CPU, {"cpu0 cpu0": (0.1, 20)}, {"cpu0 both": (28, 1, 4, 60)})
    check(found, "cpu0", "cpu0", "cpu0", 92, 64e6 / 92, (2816 + 1280 + 256) / 20e3)


def test_a_gpu_that_is_not_timed():
    found = tried(CPU | GPU, {k: v for k, v in LINKS.items() if "card0" not in k},
                  {"cpu0 both": (28, 1, 4, 60)})  # fmt: skip
    check(found, "cpu0", "cpu0", "cpu0", 92, 64e6 / 92, 4352 / 20e3)
    assert [each[:2] for each in found.refused] == [
        ("cpu0", "gpu0"), ("gpu0", "cpu0"), ("gpu0", "gpu0")
    ]  # fmt: skip
    assert found.portability == 0


def test_slow_update():
    """Updates are on the critical path. If they ran beside learning, as insertions do, the card's
    T would be 20 + 100 and the cpu's 30 + 100."""
    rows = {
        "cpu0 apart": (30, 105, 10, None),
        "card0 apart": (20, 1, 35, None),
        "gpu0 apart": (None, None, None, 100),
    }
    found = tried(CPU | CARD | GPU, LINKS, rows, Sizes(batch=50, inserts=10, words=4))
    assert totals(found) == {"cpu0 gpu0": 140, "card0 gpu0": 155}
    # 1000 bytes at 800 GB/s, 160 and 200 at 16.
    check(found, "cpu0", "gpu0", "gpu0", 140, 50e6 / 140, 0.00125 + 0.0225)
    assert found.choice.bound_by == "learn"


def test_slow_insertions():
    """They are longer than learning and updates together."""
    rows = {
        "cpu0 apart": (12, 1, 2, 100),
        "cpu0 both": (10, 1, 2, 100),
        "card0 apart": (3, 130, 1, 110),
        "card0 both": (2, 120, 1, 20),
    }
    found = tried(CPU | CARD, WITHOUT_GPU, rows)
    assert totals(found) == {
        "cpu0 cpu0": 112, "cpu0 card0": 124, "card0 cpu0": 133, "card0 card0": 122
    }  # fmt: skip
    check(found, "cpu0", "cpu0", "cpu0", 112, 64e6 / 112, 4352 / 20e3)
    assert [each.bound_by for each in found.alternatives] == ["learn", "learn", "insert", "insert"]


@pytest.mark.parametrize(
    "memory, card, traffic",
    [
        # Equal in all: the first in the file. 3072 bytes at 16 GB/s, 1280 at 8.
        (16, "card0", 0.192 + 0.16),
        # The second has a faster memory: less traffic.
        (32, "card1", 0.096 + 0.16),
    ],
)
def test_ties(memory, card, traffic):
    links = WITHOUT_GPU | {"cpu0 card1": (10, 8), "card1 card1": (0.3, memory)}
    rows = {"card0 both": (0.1, 3, 0.3, 10.3), "card1 both": (0.2, 3, 0.2, 10.3)}
    found = tried(CPU | CARD | {"card1": None}, links, rows)
    # In binary 0.1 + (0.3 + 10.3) is more than 0.2 + (0.2 + 10.3).
    check(found, card, card, card, 10.7, 64e6 / 10.7, traffic)


def test_power():
    """The GPU is the fastest, the cpu alone the most efficient; the cpu's watts count once."""
    rows = {"cpu0 both": (20, 1, 5, 80), "card0 both": (4, 1, 6, 70), "gpu0 both": (10, 1, 10, 30)}
    fast = tried(WATTS, LINKS, rows)
    assert totals(fast) == {"cpu0 cpu0": 105, "card0 card0": 80, "gpu0 gpu0": 50}
    # 3072 bytes at 800 GB/s, 1280 at 16.
    check(fast, "gpu0", "gpu0", "gpu0", 50, 1_280_000, 0.00384 + 0.08, 1_280_000 / 450)
    # 105 * 100 < 80 * 140 < 50 * 450
    best = tried(WATTS, LINKS, rows, metric="efficiency")
    check(best, "cpu0", "cpu0", "cpu0", 105, 64e6 / 105, 4352 / 20e3, 64e6 / 10_500)
    assert [each.watts for each in best.alternatives] == [100, 140, 450]


def test_power_of_three_devices():
    rows = {"card0 apart": (4, 1, 6, None), "gpu0 apart": (None, None, None, 40)}
    found = tried(WATTS, LINKS, rows, metric="efficiency")
    # 2816 bytes at 800 GB/s, 1280 at 16, 256 at 8 and at 16.
    traffic = 0.00352 + 0.08 + 0.032 + 0.016
    check(found, "card0", "gpu0", "gpu0", 50, 1_280_000, traffic, 1_280_000 / 490)


def test_unknown_watts():
    watts = WATTS | {"gpu0": None, "card0": None}
    rows = {"cpu0 both": (20, 1, 5, 80), "card0 both": (4, 1, 6, 70)}
    text = r"watts must be known for metric efficiency, not empty for card0$"
    with pytest.raises(UsageError, match=text):
        tried(watts, LINKS, rows, metric="efficiency")
    rows["gpu0 both"] = (10, 1, 10, 30)
    with pytest.raises(UsageError, match="not empty for cpu0, card0, gpu0$"):
        tried(CPU | CARD | GPU, LINKS, rows, metric="efficiency")
    with pytest.raises(UsageError, match="not empty for cpu0, card0$"):  # the cpu has the actors
        tried(CPU | CARD, WITHOUT_GPU, {"card0 both": (4, 1, 6, 70)}, metric="efficiency")
    found = tried(watts, LINKS, rows)
    assert [each.watts for each in found.alternatives] == [100, None, None]
    check(found, "gpu0", "gpu0", "gpu0", 50, 1_280_000, 0.00384 + 0.08)


@pytest.mark.parametrize(
    "name, value, rule",
    [
        ("batch", 0, "an integer in 1"), ("batch", 1.5, "an integer in 1"),
        ("inserts", 0, "positive and finite"), ("words", 0, "an integer in 1"),
    ],
)  # fmt: skip
def test_sizes_are_checked(name, value, rule):
    with pytest.raises(UsageError, match=f"{name} must be {rule}.*, not {value}"):
        Sizes(**{"batch": 1, "inserts": 0.5, "words": 1, name: value})


@pytest.mark.parametrize(
    "parts, total", [((5, 3, 2, 7), 14), ((5, 9, 2, 7), 14), ((5, 9.5, 2, 7), 14.5)]
)
def test_iteration(parts, total):
    """Equation 7: insertions run beside learning and updates."""
    assert iteration_us(*parts) == total


def test_portability():
    """Equation 8: 2 / (1/3 + 1/6) = 4; less than the mean."""
    assert portability([3, 6]) == pytest.approx(4, rel=1e-12)
    assert portability(iter([5])) == 5
    assert portability([3, 0, 6]) == 0
    with pytest.raises(UsageError, match="rates must be one or more, not none"):
        portability([])
