"""host.runtime.program on the simulated cards: what a launch carries, returns and refuses."""

import numpy as np
import pytest
from replay.kernels import NARROW, opened

from host.runtime.program import CommandError, Launcher, aligned
from hw.designs import DESIGNS
from hw.replay.commands import Opcode
from hw.replay.records import HEADER, ITEM

GRANULE = 16
CARDS = pytest.mark.parametrize("card", ["model", "sim"])


def launcher(kernel, **options):
    design = DESIGNS["replay"]
    return Launcher(
        kernel,
        **{
            "commands": design.commands,
            "errors": design.errors,
            "status": design.status,
            "pointers": {"storage": kernel.buffer("storage", 4096)},
            **options,
        },
    )


def setup(granules=1):
    return Opcode.SETUP, {"capacity": 20, "granules": granules, "priority": 5}


@pytest.mark.parametrize("size, whole", [(0, 0), (1, 64), (64, 64), (65, 128)])
def test_aligned(size, whole):
    assert aligned(size) == whole
    assert aligned(size, 1) == size


@CARDS
def test_operands_go_to_their_offsets_and_results_come_back(card):
    with opened(card, NARROW) as kernel:
        launch = launcher(kernel)
        records = np.arange(4 * GRANULE, dtype=np.uint8).reshape(4, GRANULE)
        items = np.array([(2, 9), (0, 0)], ITEM.dtype)
        results = launch.run(
            [
                setup(),
                (Opcode.INSERT, {"count": 4, "source": 128}),
                (Opcode.GET, {"count": 2, "source": 0, "destination": 64}),
                (Opcode.FIND, {"count": 1, "source": 64}),
            ],
            [(128, records), (0, items), (64, np.array([7], np.uint64))],
            96,
        )
        headers = results[64:].view(HEADER.dtype)
        assert headers["index"].tolist() == [2, 0] and headers["priority"].tolist() == [5, 5]
        assert results[:16].view(HEADER.dtype)["index"] == 1
        assert results[16:32].tolist() == records[1].tolist()
        assert launch.status["fill"] == 4 and launch.status["total"] == 20
        # Nothing asked for, nothing returned; the memory is as before.
        assert launch.run([]).size == 0
        assert launch.status["fill"] == 4
        assert launch.launches == 2
        assert launch.cycles is None if card == "model" else launch.cycles > 0


@CARDS
def test_buffers_grow_with_the_program(card):
    """A launch larger than all before it, then a small one that reuses its buffers."""
    with opened(card, NARROW) as kernel:
        launch = launcher(kernel)
        program = [setup(), (Opcode.INSERT, {"count": 20})]
        items = np.zeros(2000, ITEM.dtype)
        items["index"], items["value"] = np.arange(2000) % 20, np.arange(2000)
        program += [(Opcode.SET, {"count": 20, "source": 64 * (k % 7)}) for k in range(100)]
        program.append((Opcode.GET, {"count": 2000}))
        results = launch.run(program, [(0, items)], 2000 * HEADER.size)
        assert results.view(HEADER.dtype)["index"].tolist() == items["index"].tolist()
        results = launch.run([(Opcode.GET, {"count": 3})], [(0, items[5:8])], 48)
        assert results.view(HEADER.dtype)["index"].tolist() == [5, 6, 7]


@CARDS
def test_command_error_says_which_and_why(card):
    with opened(card, NARROW) as kernel:
        launch = launcher(kernel)
        items = np.array([(0, 1), (19, 1), (3, 2)], ITEM.dtype)
        with pytest.raises(
            CommandError,
            match=(
                r"^command 2 \(SET\) must be valid, not index: an index is not below fill; that "
                r"item was left out \(item 1\)$"
            ),
        ) as caught:
            launch.run(
                [setup(), (Opcode.INSERT, {"count": 5}), (Opcode.SET, {"count": 3})],
                [(0, np.concatenate([items.view(np.uint8), np.zeros(80, np.uint8)]))],
            )
        error = caught.value
        assert (error.code, error.name, error.command, error.detail) == (19, "index", 2, 1)
        # What came before it holds, and the memory goes on.
        assert launch.status["fill"] == 5 and launch.status["total"] == 1 + 2 + 3 * 5
        launch.run([(Opcode.SET, {"count": 1})], [(0, items[:1])])
        # A table of another version has no such code.
        old = launcher(kernel, errors={})
        with pytest.raises(CommandError, match="not unknown: error 21 of another version"):
            old.run([(Opcode.UPDATE, {"count": 1})], [(0, np.array([(0, 0x7F800000)], ITEM.dtype))])
