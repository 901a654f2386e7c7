"""Algorithm 1 on tables whose answers were computed by hand: transfers, storage, what is absent."""

import pytest

from hw.errors import UsageError
from tests.host.assign_tables import (
    CARD,
    CPU,
    GPU,
    LARGE,
    LINKS,
    THREE,
    WATTS,
    WITHOUT_GPU,
    check,
    near,
    totals,
    tried,
)


def test_transfers_added():
    """2048 bytes from RM to learner and back, 1024 from the cpu to the RM; by way of the cpu
    between card and GPU."""
    found = tried(WATTS, LINKS, THREE, LARGE, transfers="added")
    assert totals(found) == {
        "cpu0 cpu0": near(28 + 564),
        "cpu0 card0": near(26 + 10.256 + 3 + 10.256 + 80),
        "cpu0 gpu0": near(26 + 5.128 + 3 + 5.128 + 60),
        "card0 cpu0": near(5 + 10.256 + 2 + 10.256 + 540),
        "card0 card0": near(4 + 80),
        "card0 gpu0": near(5 + 15.384 + 2 + 15.384 + 60),
        "gpu0 cpu0": near(30 + 5.128 + 25 + 5.128 + 540),
        "gpu0 card0": near(30 + 15.384 + 25 + 15.384 + 80),
        "gpu0 gpu0": near(28 + 52),
    }
    inserts = {each.rm: each.insert_us for each in found.alternatives if each.rm != each.learner}
    assert inserts == {"cpu0": 1.1, "card0": near(3 + 10.128), "gpu0": near(20 + 5.064)}
    check(found, "gpu0", "gpu0", "gpu0", 80, 6_400_000, 28_672 / 800e3 + 0.768, 6_400_000 / 450)
    through = next(
        each for each in found.alternatives if (each.rm, each.learner) == ("card0", "gpu0")
    )
    assert through.storage == "gpu0"
    assert through.traffic_us == near(0.03328 + 0.768 + 0.256 + 0.128)


def test_a_link_between_accelerators():
    """It is taken instead of the way through the cpu, and makes another pair the best."""
    links = LINKS | {"gpu0 card0": (2, 32)}
    found = tried(WATTS, links, THREE, LARGE, transfers="added")
    total = 5 + 2.064 + 2 + 2.064 + 60
    # 26 624 bytes at 800 GB/s, 12 288 at 16, 2048 at 32.
    traffic = 0.03328 + 0.768 + 0.064
    check(found, "card0", "gpu0", "gpu0", total, 512e6 / total, traffic, 512e6 / (total * 490))


def test_transfers_that_are_included_are_not_added():
    found = tried(WATTS, LINKS, THREE, LARGE)
    assert totals(found)["card0 gpu0"] == 67 and totals(found)["gpu0 card0"] == 135
    check(found, "card0", "gpu0", "gpu0", 67, 512e6 / 67, 0.03328 + 0.768 + 0.384, 512e6 / 67 / 490)


def test_transfers_decide():
    """Without them two devices are better than one."""
    rows = {
        "cpu0 apart": (10, 1, 5, 100),
        "cpu0 both": (10, 1, 5, 90),
        "card0 apart": (5, 1, 3, 80),
    }
    found = tried(CPU | CARD, WITHOUT_GPU, rows)
    assert totals(found) == {"cpu0 cpu0": 105, "cpu0 card0": 95, "card0 cpu0": 108}
    # 2816 bytes at 16 GB/s, 1280 and 256 at 8.
    check(found, "cpu0", "card0", "card0", 95, 64e6 / 95, 0.176 + 0.192)
    found = tried(CPU | CARD, WITHOUT_GPU, rows, transfers="added")
    assert totals(found)["cpu0 card0"] == near(95 + 2 * 10.032)
    check(found, "cpu0", "cpu0", "cpu0", 105, 64e6 / 105, 4352 / 20e3)


def test_missing_numbers():
    """A pair that lacks a number is left out, and says which."""
    rows = {
        "cpu0 apart": (20, 4, None, 300),
        "card0 apart": (4, 2, 3, None),
        "card0 both": (4, 2, 3, 200),
    }
    found = tried(CPU | CARD, WITHOUT_GPU, rows)
    assert totals(found) == {"card0 cpu0": 307, "card0 card0": 207}
    check(found, "card0", "card0", "card0", 207, 64e6 / 207, 0.192 + 0.16)
    assert [tuple(each) for each in found.refused] == [
        ("cpu0", "cpu0", "times must have a line for cpu0 both, not be without"),
        ("cpu0", "card0", "update_us must be known for cpu0 apart, not empty"),
    ]
    with pytest.raises(UsageError, match="known for one pair of devices, not none: times must "):
        tried(CPU | CARD, WITHOUT_GPU, {"cpu0 apart": (20, 4, 3, 300)})


@pytest.mark.parametrize(
    "link, transfers, text",
    [
        ((10, None), "included", "gb_per_s must be known for the link cpu0, card0, not empty"),
        ((None, 8), "added", "latency_us must be known for the link cpu0, card0, not empty"),
        ((None, 8), "included", None),
    ],
)
def test_unknown_links(link, transfers, text):
    """They matter where something goes through them."""
    rows = {"cpu0 both": (10, 1, 5, 90), "card0 both": (5, 1, 3, 80)}
    links = WITHOUT_GPU | {"cpu0 card0": link}
    found = tried(CPU | CARD, links, rows, transfers=transfers)
    reasons = {each.reason for each in found.refused if each.rm == each.learner}
    assert reasons == ({text} if text else set())
    assert found.choice.rm == ("cpu0" if text else "card0")


APART = {"gpu0 apart": (1, 1, 1, None), "card0 apart": (None, None, None, 1)}


@pytest.mark.parametrize(
    "links, storage, traffic",
    [
        # card0: 2.816 + 0.256 + 0.00512; cpu0: 0.5632 + 0.64 + 0.0128
        ((2, 5, 1, 20, 800, 50), "gpu0", 0.05632 + 0.064 + 0.00032),
        # card0: 2.816 + 0.064 + 0.0512; gpu0: 0.5632 + 0.064 + 0.00032
        ((100, 20, 1, 20, 800, 5), "cpu0", 0.1408 + 0.0128 + 0.0128),
        # cpu0: 0.5632 + 0.64 + 0.0128; gpu0: 0.5632 + 0.064 + 0.00032
        ((2, 5, 100, 20, 800, 5), "card0", 0.02816 + 0.256 + 0.0512),
        # Equal: the learner first, then the cpu.
        ((10, 10, 10, 10, 10, 10), "card0", 0.4352),
        ((10, 10, 1, 10, 10, 10), "cpu0", 0.4352),
        # card0 and cpu0: 4.16 / 3, but not in binary.
        ((2, 4, 3, 6, 800, 2), "card0", 2.816 / 3 + 0.32 + 0.128),
    ],
)
def test_storage(links, storage, traffic):
    """RM on the GPU, learner on the card; bandwidths of cpu, cpu-card, card, cpu-GPU, GPU, and
    card-GPU."""
    ends = ("cpu0 cpu0", "cpu0 card0", "card0 card0", "cpu0 gpu0", "gpu0 gpu0", "card0 gpu0")
    found = tried(
        CPU | CARD | GPU, {end: (1, bw) for end, bw in zip(ends, links, strict=True)}, APART
    )
    check(found, "gpu0", "card0", storage, 3, 64e6 / 3, traffic)
