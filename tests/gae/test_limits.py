"""Every limit of the commands of ``gae``, on the cards ``model`` and ``sim``."""

from contextlib import ExitStack

import launch_limits
import pytest
from gae.gae_programs import Rig
from gae.limit_cases import BEFORE, CASES, GOOD, OPERANDS
from gae.test_kernel import MIDDLE, NARROW, WIDE
from limits import Bench, checks, exercised
from replay.kernels import opened

from hw.gae.commands import COMMANDS
from sim.card.memory import MemoryConfig

CHANGE = ("PUSH_CODES", {})


@pytest.fixture(scope="module", params=["model", "sim"])
def benches(request):
    """Name of a kernel -> Bench."""
    found = {}
    with ExitStack() as stack:
        for name, config in (("narrow", NARROW), ("middle", MIDDLE), ("wide", WIDE)):
            memory = MemoryConfig(max_idle=20_000)
            kernel = stack.enter_context(opened(request.param, config, memory=memory))
            found[name] = Bench(Rig(kernel), COMMANDS, GOOD, BEFORE, operands=OPERANDS)
        yield found


@pytest.fixture
def bench(benches):
    benches["narrow"].run([("CLEAR", {})])
    return benches["narrow"]


@pytest.mark.parametrize("kernel, case", CASES, ids=str)
def test_limit(benches, kernel, case):
    benches[kernel].check(case)


def test_every_check_has_a_case():
    assert exercised([case for _, case in CASES]) == checks(COMMANDS, NARROW)


def test_opcodes(bench):
    names = ("CLEAR", "STATISTICS", "PUSH", "PUSH_CODES", "ESTIMATE", "PULL")
    launch_limits.check_opcodes(bench, dict(zip(names, range(1, 7), strict=True)))


def test_programs(bench):
    launch_limits.check_programs(bench, CHANGE)


def test_pointers(bench):
    launch_limits.check_pointers(bench, CHANGE, {"program": 0, "operands": 1, "results": 2})


def test_status(bench):
    launch_limits.check_status(bench, CHANGE, 128)
