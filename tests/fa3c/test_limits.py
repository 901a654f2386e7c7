"""Every limit of the commands of ``a3c`` and of the numbers of a TRAIN, on the cards ``model`` and
``sim``. The limits of the other fields of a task are tested in ``round/`` and in
``test_kernel.py``.

Computed by hand for ``SMALL``: an observation has 8 lines of one row. The first layer has 16
filters of 4 x 4 pixels, 65 parameters each, padded to 80 rows. Its 3 x 3 pixels of 16 are the 144
inputs of the second layer, which with the bias takes 160 rows. Its 16 outputs are the inputs of the
third: with a bias 17, padded to 32 rows, for each of two groups of outputs. So theta has 304 rows,
19456 bytes. Local memory holds three copies of it, and 7 agents with 3 steps of 8 + 9 + 1 rows:
1290 rows in 81 blocks of 16, at most 41 on a master: 41984 bytes. A beat has 16 bytes.
"""

import launch_limits
import numpy as np
import pytest
from fa3c.kernel_programs import Rig, records
from fa3c.tasks import blank_task
from fa3c.test_kernel import SMALL
from limits import (
    Bench,
    Case,
    checks,
    exercised,
    footprint,
    highest,
    lowest,
    padding,
    rule,
    same_state,
    unused,
)
from replay.kernels import opened

from hw.fa3c.commands import COMMANDS
from hw.fa3c.records import TASK as RECORD

COUNT, FIELD, BUFFER, MISSING, TASK = 5, 6, 7, 16, 17
IMAGE, LOCAL = 19456, 41984

#: SYNCs of three snapshots, and tasks that are none.
OPERANDS = np.zeros(IMAGE + 64, np.uint8)
OPERANDS[:192] = records([blank_task(2, snapshot=number) for number in range(3)])
OPERANDS[192:256] = 255

#: A command that is taken after ``BEFORE``.
GOOD = {"LOAD": {"image": 0}, "STORE": {"image": 0}, "ROUND": {"count": 1}}
THETA, SQUARES = ("LOAD", {"image": 0}), ("LOAD", {"image": 1})
BEFORE = {"LOAD": (), "STORE": (THETA, SQUARES), "ROUND": (THETA, SQUARES)}


def room(command, name, need):
    """Of a buffer that the command reaches as a whole."""
    size = f"{name}_bytes"
    short = tuple({size: each} for each in (need - 1, need - 16, need - 64, 0))
    return Case(command, f"{name} room", (BUFFER, 0), ({size: need},), short)


CASES = [
    *unused("LOAD", "count", "destination"),
    highest("LOAD", "image", (FIELD, 16), 1),
    padding("LOAD", 20),
    *footprint("LOAD", "source", IMAGE, 16),
    *(room("LOAD", name, IMAGE) for name in ("theta", "squares")),
    *unused("STORE", "count", "source"),
    highest("STORE", "image", (FIELD, 16), 1),
    padding("STORE", 20),
    rule("STORE", 0, (MISSING, 0), [], [{}, {"image": 1}], before=()),
    rule("STORE", 0, (MISSING, 0), [{}], [{"image": 1}], before=(THETA,)),
    rule("STORE", 0, (MISSING, 0), [{"image": 1}], [{}], before=(SQUARES,)),
    *footprint("STORE", "destination", IMAGE, 16),
    *(room("STORE", name, IMAGE) for name in ("theta", "squares")),
    lowest("ROUND", "count", (COUNT, 0), 1),
    highest("ROUND", "count", (COUNT, 0), 12, outcome=(TASK, 3)),
    *unused("ROUND", "destination"),
    padding("ROUND", 16),
    rule("ROUND", 0, (MISSING, 0), [], [{}], before=()),
    rule("ROUND", 0, (MISSING, 0), [], [{}], before=(THETA,)),
    rule("ROUND", 0, (MISSING, 0), [{}], [], before=(THETA, SQUARES)),
    rule("ROUND", 0, (MISSING, 0), [], [{}], before=(SQUARES,)),
    *footprint("ROUND", "source", 128, 16, count=2),
    *(room("ROUND", name, IMAGE) for name in ("theta", "squares")),
    *(room("ROUND", name, LOCAL) for name in ("local0", "local1")),
]


#: Numbers of a TRAIN, as bits: the least, the largest, and those beyond: infinity, a NaN, -0, a
#: negative NaN and what is next to a limit. hw_arrays 10
ABNORMAL = (0x7F800000, 0x7FC00000, 0x80000000, 0xFFFFFFFF)
NUMBERS = {
    "rate": (0, 0x7F7FFFFF, (*ABNORMAL, 0x80000001)),
    "decay": (0, 0x3F800000, (*ABNORMAL, 0x3F800001)),
    "gain": (0, 0x3F800000, (*ABNORMAL, 0x3F800001)),
    "epsilon": (0x00800000, 0x7F7FFFFF, (*ABNORMAL, 0x007FFFFF, 0)),
}


@pytest.fixture(params=["model", "sim"])
def bench(request):
    """Of a kernel that has run nothing yet."""
    with opened(request.param, SMALL) as kernel:
        yield bench_of(kernel)


def bench_of(kernel):
    return Bench(Rig(kernel, SMALL), COMMANDS, GOOD, BEFORE, operands=OPERANDS)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_limit(bench, case):
    with opened("model", SMALL) as twin:
        bench.twin = bench_of(twin)
        bench.check(case)


def test_numbers_of_a_train(bench):
    """Each is refused by itself, and nothing has changed then; all at a limit are taken."""

    def run(**task):
        bench.operands = OPERANDS.copy()
        bench.operands[:64] = records([blank_task(**task)])
        outputs, outcome = bench.run([("ROUND", {"count": 1})])
        return outputs, outcome[:2]

    def train(agent, **numbers):
        listed = dict(unit=1, count=1, operands=1024, agents=[agent, *[0] * 7])
        return run(kind=1, **{"epsilon": 0x3F800000} | listed | numbers)

    bench.run([THETA, SQUARES])
    assert run(kind=2)[1] == (0, 0)
    before, outcome = run(kind=0, count=2, agents=[0, 1, *[0] * 6], operands=1024)
    assert outcome == (0, 0)
    for name, (*_, beyond) in NUMBERS.items():
        for bits in beyond:
            outputs, outcome = train(0, **{name: bits})
            assert outcome == (TASK, 0), (name, bits)
            same_state(outputs, before, f"{name} {bits:#x}")
    for agent in (0, 1):
        assert train(agent, **{name: limits[agent] for name, limits in NUMBERS.items()})[1] == (
            0,
            0,
        )


def test_ranges_are_in_the_register_document():
    for name, limits in (("decay", "0..1"), ("epsilon", "1.175e-38..3.403e+38")):
        assert f"| `{name}` | f32 | {limits} |" in RECORD.markdown()


def test_every_check_has_a_case():
    assert exercised(CASES) == checks(COMMANDS, SMALL)


def test_opcodes(bench):
    launch_limits.check_opcodes(bench, {"LOAD": 1, "STORE": 2, "ROUND": 3})


def test_programs(bench):
    launch_limits.check_programs(bench, THETA)


def test_pointers(bench):
    names = ("program", "operands", "results", "status", "theta", "squares", "local0", "local1")
    ids = {name: number for number, name in enumerate(names) if name != "status"}
    launch_limits.check_pointers(bench, THETA, ids)


def test_status(bench):
    launch_limits.check_status(bench, THETA, 128)
