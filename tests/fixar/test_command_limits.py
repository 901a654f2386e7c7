"""FIXAR's own commands at and beyond every limit, worked out by hand, on both cards.

``SMALL`` has batches of up to 16. An observation is a granule of 16 bytes, an action, 5 numbers,
two; a beat has 16 bytes. Five slots of activations have shifts up to 32 - 16, six of errors up to
27 - 16. Tiles of 4 x 4 weights: 80 + 32 + 32 numbers of the critic and 32 + 32 + 48 of the actor
are 1024 bytes of each set of parameters.
"""

from contextlib import contextmanager

import pytest
from fixar.kernels import SMALL
from limits import (
    Bench,
    checks,
    exercised,
    footprint,
    highest,
    lowest,
    padding,
    rule,
    unused,
    with_twin,
)
from programs import Rig
from replay.kernels import opened
from replay.programs import CLOCKS

from hw.fixar.commands import COMMANDS, FIXAR, FIXAR_STATUS

COUNT, FIELD, UNLOADED, SHIFT, PRECISION = 5, 6, 37, 38, 39
GOOD = {"FORMAT": {}, "ACT": {"count": 1}, "LOAD": {"sets": 1, "count": 1024}}
BEFORE = {"FORMAT": (), "ACT": (("LOAD", {}),)}


def shifts(kind, *words):
    return {f"{kind}_shifts": words}


FORMAT = [
    *unused("FORMAT", "count", "source", "destination"),
    highest("FORMAT", "activations", (FIELD, 16), 1),
    highest("FORMAT", "errors", (FIELD, 20), 1, activations=1),
    highest("FORMAT", "clear", (FIELD, 24), 1),
    highest("FORMAT", "activation_bits", (FIELD, 52), 16),
    padding("FORMAT", 56),
    rule("FORMAT", 0, (PRECISION, 0), [{"activations": 1, "errors": 1}], [{"errors": 1}]),
    rule(
        "FORMAT",
        1,
        (SHIFT, 0),
        [shifts("activation", 0x10101010, 0x10, 0)],
        [
            shifts("activation", *words)
            for words in ((17, 0, 0), (17 << 24, 0, 0), (0, 17, 0), (0, 1 << 8, 0), (0, 0, 1 << 24))
        ],
    ),
    rule(
        "FORMAT",
        2,
        (SHIFT, 0),
        [shifts("error", 0x0B0B0B0B, 0x0B0B, 0)],
        [
            shifts("error", *words)
            for words in ((12, 0, 0), (0, 12, 0), (0, 12 << 8, 0), (0, 1 << 16, 0), (0, 0, 1))
        ],
    ),
    rule(
        "FORMAT",
        3,
        (FIELD, 52),
        [{"activation_bits": bits} for bits in (0, 8, 16)],
        [{"activation_bits": bits} for bits in (1, 7)],
    ),
]
ACT = [
    lowest("ACT", "count", (COUNT, 0), 1),
    highest("ACT", "count", (COUNT, 0), 16),
    highest("ACT", "noise", (FIELD, 16), 0x7F7FFFFF),
    highest("ACT", "reserved", (FIELD, 20), 0),
    padding("ACT", 32),
    rule("ACT", 0, (UNLOADED, 0), [{}], []),
    *footprint("ACT", "source", 48, 16, count=3),
    *footprint("ACT", "destination", 96, 16, count=3),
]
#: Of a kernel that has run nothing.
FRESH = rule("ACT", 0, (UNLOADED, 0), [], [{}], before=())


@contextmanager
def opened_bench(card):
    with opened(card, SMALL) as kernel:
        rig = Rig(kernel, {"storage": 4096}, FIXAR_STATUS, CLOCKS)
        yield Bench(rig, COMMANDS, GOOD, BEFORE)


@pytest.fixture(scope="module", params=["model", "sim"])
def bench(request):
    with with_twin(request.param, opened_bench) as bench:
        yield bench


@pytest.mark.parametrize("case", FORMAT, ids=str)
def test_format(bench, case):
    bench.check(case)


@pytest.mark.parametrize("case", ACT, ids=str)
def test_act(bench, case):
    bench.check(case)


@pytest.mark.parametrize("card", ["model", "sim"])
def test_limit_of_a_fresh_kernel(card):
    with with_twin(card, opened_bench) as bench:
        bench.check(FRESH)


def test_every_check_has_a_case():
    assert exercised([*FORMAT, *ACT, FRESH]) == {
        (command, check) for command, check in checks(FIXAR, SMALL) if command in BEFORE
    }
