"""hw.replay.tree.forwarding_memory: every word is what all earlier operations made of it."""

import itertools
import random

import pytest
from clocks import Clocks, run_together
from replay.tree.forwarding_memory_top import ForwardTop

from hw.replay.config import compute_stage

WIDTH = 16
SHAPES = [
    (1, "distributed"),
    (2, "distributed"),
    (37, "distributed"),
    (70, "block"),
    (9, "ultra"),
    (70, "ultra"),
]


def pairs_at_every_distance(depth):
    """``(address, write)``: two or three operations on one word, 1 to 6 clocks apart, with other
    words between them; bubbles (no write, any address) after each group."""
    address = 0
    for distance, further, *writes in itertools.product(
        range(1, 7), (0, 1, 2, 3), (0, 1), (0, 1), (0, 1)
    ):
        address = (address + 3) % depth
        other = (address + 1) % depth
        yield address, writes[0]
        for _ in range(distance - 1):
            yield other, 1
        yield address, writes[1]
        for _ in range(further):
            yield other, 0
        yield address, writes[2]
        for _ in range(7):
            yield address, 0


def clocks_of(operations, depth, stage, rng):
    """Clear everything, then the operations back to back against a dict."""
    clocks, memory = Clocks(), dict.fromkeys(range(depth), 0)
    for address in range(depth + 3):  # past the end: ignored
        clocks.add(clear=1, clear_address=address)
    clocks.add()
    for address, write in operations:
        value = rng.randrange(1, 1 << WIDTH)
        clock = clocks.add(address=address, write=write, value=value)
        clocks.expect(clock + stage, word=memory[address])
        if write:
            memory[address] = (memory[address] + value) % (1 << WIDTH)
        clocks.expect(clock + stage + 1, committed=memory[address])
    return clocks


@pytest.fixture
def each_shape(simulate, tmp_path):
    """``each_shape(clocks_of_shape)``: what ``clocks_of_shape(depth, style)`` says, of each."""

    def run(clocks_of_shape):
        cases = {
            f"{style} {depth}": (
                clocks_of_shape(depth, style),
                ForwardTop(width=WIDTH, depth=depth, style=style),
            )
            for depth, style in SHAPES
        }
        run_together(simulate, tmp_path, cases)

    return run


def test_pairs_at_every_distance(each_shape):
    def clocks(depth, style):
        stage = compute_stage(depth, style)
        return clocks_of(pairs_at_every_distance(depth), depth, stage, random.Random(1))

    each_shape(clocks)


def test_random_operations(each_shape):
    """Few words, so that most operations meet one under way; then all of them."""

    def clocks(depth, style):
        rng = random.Random(2)
        operations = [
            (rng.randrange(min(depth, few)), rng.random() < rate)
            for few, rate in ((1, 0.5), (2, 0.9), (3, 0.5), (8, 0.7), (depth, 0.5))
            for _ in range(400)
        ]
        return clocks_of(operations, depth, compute_stage(depth, style), rng)

    each_shape(clocks)


def test_clear_forgets(each_shape):
    """Words, history and the register of a single word are all zero after a sweep."""

    def clocks(depth, style):
        stage, clocks = compute_stage(depth, style), Clocks()
        for address in range(depth):
            clocks.add(clear=1, clear_address=address)
        for address in range(min(depth, 9)):
            clocks.add(address=address, write=1, value=1000 + address)
        for _ in range(stage + 2):
            clocks.add()
        for address in range(depth):
            clocks.add(clear=1, clear_address=address)
        for address in (0, min(depth, 9) - 1, depth - 1):
            clocks.expect(clocks.add(address=address) + stage, word=0)
        return clocks

    each_shape(clocks)


def test_clear_past_the_end_is_ignored(each_shape):
    """Sweeps go on to the end of the deepest memory: shorter ones keep what they hold."""

    def clocks(depth, style):
        stage, clocks = compute_stage(depth, style), Clocks()
        for address in range(depth):
            clocks.add(clear=1, clear_address=address)
        for address in range(depth):
            clocks.add(address=address, write=1, value=1000 + address)
        for _ in range(stage + 2):
            clocks.add()
        for address in range(depth, 2 << depth.bit_length()):
            clocks.add(clear=1, clear_address=address)
        for address in range(depth):
            clocks.expect(clocks.add(address=address) + stage, word=1000 + address)
        return clocks

    each_shape(clocks)
