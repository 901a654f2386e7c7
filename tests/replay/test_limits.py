"""Every limit of the commands of ``replay``, on the cards ``model`` and ``sim``."""

from contextlib import ExitStack, contextmanager
from functools import cache, partial

import launch_limits
import pytest
from limits import Bench, checks, exercised, with_twin
from replay.kernels import NARROW, WIDE, opened
from replay.limit_cases import BEFORE, CASES, GOOD
from replay.programs import Rig

from hw.replay.commands import COMMANDS
from sim.card.memory import MemoryConfig

OPERANDS, COUNT, FIELD, BUFFER, PRIORITY = 2, 5, 6, 7, 20
#: A command that shows in the status.
CHANGE = ("SETUP", {"capacity": 2})


KERNELS = {"narrow": NARROW, "wide": WIDE}


@contextmanager
def opened_bench(name, card):
    with opened(card, KERNELS[name], memory=MemoryConfig(max_idle=20_000)) as kernel:
        # As many pages as any memory here needs, which are more than there are.
        sizes = {"storage_pages": 1 << 20}
        yield Bench(Rig(kernel, 1 << 16), COMMANDS, GOOD, BEFORE, sizes)


@pytest.fixture(scope="module", params=["model", "sim"])
def benches(request):
    """``benches(name of a kernel, twin)``: its Bench, the same in all tests; by itself or not."""
    with ExitStack() as stack:

        def opened_once(name, twin=False):
            card, own = request.param, partial(opened_bench, name)
            return stack.enter_context(with_twin(card, own) if twin else own(card))

        yield cache(opened_once)


@pytest.fixture
def bench(benches):
    return benches("narrow")


@pytest.mark.parametrize("kernel, case", CASES, ids=str)
def test_limit(benches, kernel, case):
    benches(kernel, twin=True).check(case)


def test_a_twin_of_another_kernel_is_found(benches, monkeypatch):
    bench = benches("narrow")
    monkeypatch.setattr(bench, "twin", benches("wide"))
    with pytest.raises(AssertionError, match="status from byte"):
        bench.attempt("SETUP", {})


def test_every_check_has_a_case():
    assert exercised([case for _, case in CASES]) == checks(COMMANDS, NARROW)


def test_opcodes(bench):
    names = ("SETUP", "SEED", "RESTORE", "INSERT", "SET", "UPDATE", "SAMPLE", "FIND", "GET")
    launch_limits.check_opcodes(bench, dict(zip(names, range(1, 10), strict=True)))


def test_order_of_refusals(bench):
    """Fields in their order, what lies behind them, rules, footprints: the first one counts."""
    bench.run(bench.before["INSERT"])
    fields = {"count": 0, "destination": 64, "alpha": 65536, "given": 3, "raw": {40: 1}}
    fields |= {"source": 32, "operands_bytes": 0, "storage_pages": 0}
    for repair, outcome in (
        ({}, (COUNT, 0)),
        ({"count": 11}, (FIELD, 12)),
        ({"destination": 0}, (FIELD, 16)),
        ({"alpha": 0}, (FIELD, 24)),
        ({"given": 1, "priority": 1}, (FIELD, 36)),
        ({"raw": {}}, (COUNT, 0)),
        ({"count": 10}, (PRIORITY, 0)),
        ({"priority": 0}, (BUFFER, 0)),
        ({"storage_pages": 1}, (OPERANDS, 0)),
        ({"source": 0}, (OPERANDS, 0)),
        ({"operands_bytes": 160}, (0, 0)),
    ):
        fields |= repair
        assert bench.attempt("INSERT", fields)[1][:2] == outcome, repair


def test_programs(bench):
    launch_limits.check_programs(bench, CHANGE)


def test_pointers(bench):
    ids = {"program": 0, "operands": 1, "results": 2, "storage": 4}
    launch_limits.check_pointers(bench, CHANGE, ids)


def test_status(bench):
    launch_limits.check_status(bench, CHANGE, 192)
