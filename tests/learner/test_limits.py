"""Every limit of the learner's commands, on the cards ``model`` and ``sim``, around a stand-in."""

from contextlib import contextmanager

import launch_limits
import numpy as np
import pytest
from learner.limit_cases import BEFORE, CASES, FRESH, GOOD, TOO_MANY_BEATS
from learner.stand_in_kernels import NARROW, opened
from limits import Bench, checks, exercised, with_twin
from programs import Rig
from replay.programs import CLOCKS

from hw.learner.commands import COMMANDS, LEARNING
from hw.learner.records import LEARNER_STATUS
from sim.card.memory import MemoryConfig

CHANGE = ("SETUP", {"capacity": 2})
#: Every 64 bytes, an experience with its HEADER, have an importance weight of 1.
OPERANDS = np.tile(np.array([0, 0, 1, *[0] * 13], "<f4"), 64).view(np.uint8)


@contextmanager
def opened_bench(card):
    with opened(card, NARROW, memory=MemoryConfig(max_idle=20_000)) as kernel:
        rig = Rig(kernel, {"storage": 1 << 14}, LEARNER_STATUS, CLOCKS)
        yield Bench(rig, COMMANDS, GOOD, BEFORE, operands=OPERANDS, timed=("LEARN", "TRAIN"))


@pytest.fixture(scope="module", params=["model", "sim"])
def bench(request):
    with opened_bench(request.param) as bench:
        yield bench


@pytest.fixture(scope="module", params=["model", "sim"])
def beside_twin(request):
    with with_twin(request.param, opened_bench) as bench:
        yield bench


@pytest.mark.parametrize("case", CASES, ids=str)
def test_limit(beside_twin, case):
    beside_twin.check(case)


@pytest.mark.parametrize("card", ["model", "sim"])
@pytest.mark.parametrize("case", FRESH, ids=str)
def test_limit_of_a_fresh_kernel(card, case):
    with with_twin(card, opened_bench) as bench:
        bench.check(case)


def test_a_request_has_so_many_beats(beside_twin):
    beside_twin.check(TOO_MANY_BEATS)


def test_every_check_has_a_case():
    assert exercised([*CASES, *FRESH]) == checks(LEARNING, NARROW)


def test_opcodes(bench):
    own = {"LEARN": 32, "TRAIN": 36, "LOAD": 33, "STORE": 34, "ACT": 35}
    launch_limits.check_opcodes(bench, own, range(1, 10))


def test_programs(bench):
    launch_limits.check_programs(bench, CHANGE)


def test_pointers(bench):
    ids = {"program": 0, "operands": 1, "results": 2, "storage": 4}
    launch_limits.check_pointers(bench, CHANGE, ids)


def test_status(bench):
    launch_limits.check_status(bench, CHANGE, 256)
