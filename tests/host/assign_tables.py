"""Tables for Algorithm 1, and what is asked of its answers."""

import pytest

from host.compose.assignment import Sizes, assign
from tests.host.machine_files import machine, matrix

__all__ = ["CARD", "CPU", "GPU", "LARGE", "LINKS", "SIZES", "THREE", "WATTS", "WITHOUT_GPU"]
__all__ += ["check", "near", "totals", "tried"]

#: A batch of 64, 32 insertions, 10 words: 2816 bytes with the learner, 1280 with the actors, and
#: 256 with the replay manager.
SIZES = Sizes(batch=64, inserts=32, words=10)
#: A batch of 512, 256 insertions, 12 words: 26 624, 12 288 and 2048 bytes.
LARGE = Sizes(batch=512, inserts=256, words=12)

CPU, CARD, GPU = ({name: None} for name in ("cpu0", "card0", "gpu0"))
LINKS = {
    "cpu0 cpu0": (0.1, 20),
    "cpu0 card0": (10, 8),
    "card0 card0": (0.3, 16),
    "cpu0 gpu0": (5, 16),
    "gpu0 gpu0": (1, 800),
}
WITHOUT_GPU = {ends: link for ends, link in LINKS.items() if "gpu0" not in ends}
THREE = {
    "cpu0 apart": (26, 1.1, 3, 540),
    "cpu0 both": (28, 1.2, 4, 560),
    "card0 apart": (5, 3, 2, 80),
    "card0 both": (4, 3, 2, 78),
    "gpu0 apart": (30, 20, 25, 60),
    "gpu0 both": (28, 18, 22, 30),
}
WATTS = {"cpu0": 100, "card0": 40, "gpu0": 350}


def tried(devices, links, rows, sizes=SIZES, **options):
    return assign(matrix(machine(devices, links), rows), sizes, **options)


def totals(found):
    """``{"RM learner": T}`` of all alternatives."""
    return {f"{each.rm} {each.learner}": each.iteration_us for each in found.alternatives}


def near(value):
    return pytest.approx(value, rel=1e-9, abs=0)


def check(found, rm, learner, storage, total, eps, traffic, per_watt=None):
    choice = found.choice
    assert (choice.rm, choice.learner, choice.storage) == (rm, learner, storage)
    assert choice.iteration_us == near(total) and choice.eps == near(eps)
    assert choice.traffic_us == near(traffic)
    assert choice.eps_per_watt == (None if per_watt is None else near(per_watt))
