"""What commands of ``replay`` do, in numbers worked out by hand, on cards ``model`` and ``sim``.

A mistake that hardware and twin share shows here. Priorities have 16 bits, 8 of them behind the
point: 1.0 is 256, and 65535 the largest. 32768 is an exponent of 1.
"""

import numpy as np
import pytest
from replay.kernels import NARROW, opened
from replay.programs import Program, Rig, status_of

from hw.replay.commands import Opcode
from hw.replay.records import HEADER
from sim.card.memory import MemoryConfig

INDEX, PRIORITY, TD, TARGET = 19, 20, 21, 22
ONE = 32768
NAN, INFINITE = np.nan, np.inf


@pytest.fixture(scope="module", params=["model", "sim"])
def rig(request):
    with opened(request.param, NARROW, memory=MemoryConfig(max_idle=20_000)) as kernel:
        yield Rig(kernel, 1 << 14)


def memory(capacity=10, priority=9, granules=0):
    """A program that begins with an empty memory."""
    program = Program()
    program.setup(capacity, granules, priority)
    return program


def bare(count):
    """Experiences of no bytes."""
    return np.zeros((count, 0), np.uint8)


def run(rig, program, error=0, detail=0):
    """Results and the replay status of a program that ends so."""
    outputs = rig.run(program.launch())
    shell, replay = status_of(outputs["status"])
    assert (shell["error"], shell["error_detail"]) == (error, detail)
    assert shell["executed"] == len(program) - bool(error)
    return outputs["results"], replay


def headers(rig, count, beta=0):
    """Of the first experiences."""
    program = Program()
    program.listed(Opcode.GET, range(count), beta=beta)
    return run(rig, program)[0][: 16 * count].view(HEADER.dtype)


def priorities(rig, count):
    return headers(rig, count)["priority"].tolist()


def test_weights_of_a_memory_that_is_partly_filled(rig):
    """(fill * priority / total)**-beta: three of ten are there, and 4 is their total."""
    program = memory()
    program.insert(bare(3), priorities=[1, 2, 1])
    run(rig, program)
    for beta, weights in (
        (ONE, [4 / 3, 4 / 6, 4 / 3]),
        (ONE // 2, [(4 / 3) ** 0.5, (4 / 6) ** 0.5, (4 / 3) ** 0.5]),
        (0, [1, 1, 1]),
    ):
        found = headers(rig, 3, beta)
        assert found["index"].tolist() == [0, 1, 2] and found["priority"].tolist() == [1, 2, 1]
        np.testing.assert_allclose(found["weight"], np.float32(weights), rtol=2**-17)
    program = Program()
    program.listed(Opcode.FIND, [0, 1, 2, 3], beta=ONE)
    found = run(rig, program)[0][:64].view(HEADER.dtype)
    assert found["index"].tolist() == [0, 1, 1, 2]
    np.testing.assert_allclose(
        found["weight"], np.float32([4 / 3, 2 / 3, 2 / 3, 4 / 3]), rtol=2**-17
    )


def test_entry_is_the_largest_priority_so_far(rig):
    """That of SETUP is for a memory that has seen none."""
    program = memory(priority=9)
    program.insert(bare(1), priority=3)
    program.insert(bare(1))
    run(rig, program)
    assert priorities(rig, 2) == [3, 3]
    program = memory(priority=9)
    program.insert(bare(1))
    program.insert(bare(1), priority=3)
    program.insert(bare(1))
    program.listed(Opcode.SET, [(0, 20)])
    program.insert(bare(1))
    program.listed(Opcode.SET, [(0, 1), (3, 1)])
    program.insert(bare(1))
    _, status = run(rig, program)
    assert priorities(rig, 5) == [1, 3, 9, 1, 20]
    assert status["maximum"] == 20 and status["total"] == 34
    # A checkpoint says what the largest was.
    program = memory(priority=9)
    program.raw(Opcode.RESTORE, position=1, fill=1, maximum=3)
    program.insert(bare(1))
    run(rig, program)
    assert priorities(rig, 2) == [0, 3]
    program = memory(priority=9)
    program.raw(Opcode.RESTORE, position=1, fill=1, maximum=0)
    program.insert(bare(1))
    run(rig, program)
    assert priorities(rig, 2) == [0, 9]


def test_saturations_are_of_items_that_count(rig):
    program = memory()
    program.insert(bare(2))
    program.update([2], [1e30], alpha=ONE)
    assert run(rig, program, INDEX, 0)[1]["saturations"] == 0
    program = Program()
    program.update([1, 0, 1], [1e30, 255.0, -1e30], alpha=ONE)
    assert run(rig, program)[1]["saturations"] == 2
    assert priorities(rig, 2) == [65280, 65535]


def test_given_priorities(rig):
    """Zero and the largest are priorities like others; the largest then is the running maximum."""
    program = memory()
    program.insert(bare(4), priorities=[5, 0, 65535, 1])
    _, status = run(rig, program)
    assert priorities(rig, 4) == [5, 0, 65535, 1]
    assert status["maximum"] == 65535 and status["total"] == 65541
    assert (status["position"], status["fill"]) == (4, 4)
    # Over the end of the ring.
    program = memory(capacity=5)
    program.insert(bare(4), priorities=[1, 2, 3, 4])
    program.insert(bare(3), priorities=[7, 8, 0])
    program.insert(bare(1))
    _, status = run(rig, program)
    assert priorities(rig, 5) == [8, 0, 8, 4, 7]
    assert (status["position"], status["fill"], status["total"]) == (3, 5, 27)


def test_given_td_errors(rig):
    """(|td| + epsilon)**alpha; none is 0, so that every experience may be drawn."""
    program = memory()
    program.insert(bare(5), td_errors=[1.5, -2.0, 0.0, 0.25, 255.0], alpha=ONE)
    program.insert(bare(2), td_errors=[1.0, -0.5], alpha=ONE, epsilon=32768)  # of 65536
    program.insert(bare(3), td_errors=[4.0, -16.0, 1e30], alpha=ONE // 2)
    _, status = run(rig, program)
    assert priorities(rig, 10) == [384, 512, 1, 64, 65280, 384, 256, 512, 1024, 65535]
    assert status["saturations"] == 1


@pytest.mark.parametrize(
    "given, error",
    [
        ({"priorities": [3, 65536, 4]}, PRIORITY),
        ({"priorities": [3, 2**32 - 1, 4]}, PRIORITY),
        ({"td_errors": [3 / 256, NAN, 4 / 256]}, TD),
        ({"td_errors": [3 / 256, INFINITE, 4 / 256]}, TD),
        ({"td_errors": [3 / 256, -INFINITE, 4 / 256]}, TD),
    ],
)
def test_a_bad_item_of_an_insert(rig, given, error):
    """It is reported, its experience is stored with priority 0, and the others as they should."""
    program = memory(capacity=4, granules=1)
    program.insert(np.full((4, 16), 7, np.uint8), priority=50)
    program.insert(np.arange(48, dtype=np.uint8).reshape(3, 16), alpha=ONE, **given)
    _, status = run(rig, program, error, 1)
    assert priorities(rig, 4) == [3, 0, 4, 50]
    assert (status["position"], status["fill"], status["total"]) == (3, 4, 57)
    assert status["saturations"] == 0
    storage = rig.buffers["storage"]
    storage.from_device()
    assert storage.view[:64].tolist() == [*range(48), *[7] * 16]


@pytest.mark.parametrize(
    "opcode, items, error, detail, expected",
    [
        (Opcode.SET, [(3, 65535), (0, 0)], 0, 0, [0, 9, 9, 65535]),
        (Opcode.SET, [(0, 1), (4, 1), (1, 2), (2**31, 1)], INDEX, 1, [1, 2, 9, 9]),
        (Opcode.SET, [(0, 1), (1, 65536), (2, 2)], PRIORITY, 1, [1, 9, 2, 9]),
        (Opcode.SET, [(0, 1), (1, 2), (2, 2**31)], PRIORITY, 2, [1, 2, 9, 9]),
        (Opcode.UPDATE, [(3, 0x3F800000), (0, 0x7F7FFFFF)], 0, 0, [65535, 9, 9, 256]),
        (Opcode.UPDATE, [(3, 0x3F800000), (4, 0x3F800000)], INDEX, 1, [9, 9, 9, 256]),
        (Opcode.UPDATE, [(3, 0x3F800000), (0, 0x7F800000)], TD, 1, [9, 9, 9, 256]),
        (Opcode.UPDATE, [(3, 0xFFC00001), (0, 0xBF800000)], TD, 0, [256, 9, 9, 9]),
    ],
)
def test_items(rig, opcode, items, error, detail, expected):
    """Four of ten places are filled; what is left out leaves the others alone."""
    program = memory()
    program.insert(bare(4))
    fields = {"alpha": ONE} if opcode == Opcode.UPDATE else {}
    program.listed(opcode, items, **fields)
    run(rig, program, error, detail)
    assert priorities(rig, 4) == expected


def test_get_and_find_beyond_what_there_is(rig):
    """Indexes below fill, positions below the total; a header of what is not there is zeros."""
    program = memory()
    program.insert(bare(3), priorities=[4, 0, 2])
    run(rig, program)
    program = Program()
    program.listed(Opcode.GET, [2, 3, 0])
    results, _ = run(rig, program, INDEX, 1)
    found = results[:48].view(HEADER.dtype)
    assert found["index"].tolist() == [2, 0, 0] and found["priority"].tolist() == [2, 0, 4]
    for positions, error, detail, indexes, values in (
        ([0, 3, 4, 5], 0, 0, [0, 0, 2, 2], [4, 4, 2, 2]),
        ([5, 6, 3], TARGET, 1, [2, 0, 0], [2, 0, 4]),
        ([5, 0, 2**32, 2**63], TARGET, 2, [2, 0, 0, 0], [2, 4, 0, 0]),
    ):
        program = Program()
        program.listed(Opcode.FIND, positions)
        results, _ = run(rig, program, error, detail)
        found = results[: 16 * len(positions)].view(HEADER.dtype)
        assert found["index"].tolist() == indexes and found["priority"].tolist() == values
