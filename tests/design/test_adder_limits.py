"""Every limit of the small design's commands, on the cards ``model`` and ``sim``.

The numbers are worked out by hand: vectors of at most 1000 numbers, beats of 16 bytes on both
masters, so that nine numbers, 36 bytes, take three beats, 48 bytes.
"""

import launch_limits
import pytest
from design.adder.commands import COMMANDS
from design.adder_programs import Rig, kernel_config
from limits import Bench, checks, exercised, footprint, highest, lowest, padding, rule, unused
from replay.kernels import opened

CONFIG = kernel_config(128, 128)
COUNT, BIAS = 5, 16

#: A command that is taken after ``BEFORE``.
GOOD = {"BIAS": {"bias": 7}, "ADD": {"count": 1}}
BEFORE = {"BIAS": (), "ADD": (("BIAS", {}),)}
CASES = [
    *unused("BIAS", "count", "source", "destination"),
    padding("BIAS", 20),
    lowest("ADD", "count", (COUNT, 0), 1),
    highest("ADD", "count", (COUNT, 0), 1000),
    *unused("ADD", "source"),
    padding("ADD", 24),
    rule("ADD", 0, (BIAS, 0), [], [{}], before=()),
    rule("ADD", 0, (BIAS, 0), [{}], []),
    *footprint("ADD", "x", 48, 16, buffer="x", count=9),
    *footprint("ADD", "y", 48, 16, buffer="y", count=9),
    *footprint("ADD", "destination", 48, 16, count=9),
]


@pytest.fixture(params=["model", "sim"])
def bench(request):
    """Of a kernel that has run nothing yet."""
    with opened(request.param, CONFIG) as kernel:
        yield Bench(Rig(kernel), COMMANDS, GOOD, BEFORE)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_limit(bench, case):
    bench.check(case)


def test_every_check_has_a_case():
    assert exercised(CASES) == checks(COMMANDS, CONFIG)


def test_launches(bench):
    """What refuses a launch as a whole."""
    change = ("BIAS", {})
    launch_limits.check_opcodes(bench, {"BIAS": 1, "ADD": 2})
    launch_limits.check_programs(bench, change)
    pointers = {"program": 0, "operands": 1, "results": 2, "x": 4, "y": 5}
    launch_limits.check_pointers(bench, change, pointers)
    launch_limits.check_status(bench, change, 128)
