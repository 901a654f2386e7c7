"""Every limit of the commands of ``gae``, on the cards ``model`` and ``sim``."""

from contextlib import ExitStack, contextmanager
from functools import cache, partial
from itertools import product

import launch_limits
import pytest
from gae.gae_programs import Rig
from gae.limit_cases import BEFORE, CASES, GOOD, OPERANDS
from gae.test_kernel import MIDDLE, NARROW, WIDE
from later import later
from limits import Bench, checks, exercised, with_twin
from replay.kernels import opened

from hw.gae.commands import COMMANDS
from sim.card.memory import MemoryConfig

CHANGE = ("PUSH_CODES", {})
CARDS = ("model", "sim")
KERNELS = {"narrow": NARROW, "middle": MIDDLE, "wide": WIDE}


@contextmanager
def opened_bench(name, card):
    with opened(card, KERNELS[name], memory=MemoryConfig(max_idle=20_000)) as kernel:
        yield Bench(Rig(kernel), COMMANDS, GOOD, BEFORE, operands=OPERANDS)


@pytest.fixture(scope="module")
def benches():
    """``benches(card, name of a kernel, twin)``: its Bench, the same in all tests."""
    with ExitStack() as stack:

        def opened_once(card, name, twin=False):
            own = partial(opened_bench, name)
            return stack.enter_context(with_twin(card, own) if twin else own(card))

        yield cache(opened_once)


@pytest.fixture(params=CARDS)
def bench(request, benches):
    found = benches(request.param, "narrow")
    found.run([("CLEAR", {})])
    return found


@pytest.mark.parametrize(
    "card, kernel, case",
    [
        # Compiling another than the narrow one takes longer than all of them.
        (later if card == "sim" and kernel != "narrow" else pytest.param)(
            card, kernel, case, id=f"{card}-{kernel}-{case}"
        )
        for card, (kernel, case) in product(CARDS, CASES)
    ],
)
def test_limit(benches, card, kernel, case):
    benches(card, kernel, twin=True).check(case)


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
