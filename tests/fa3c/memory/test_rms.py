"""rms: commands one after the other against the twin, memory stalling; clocks as estimated."""

import re

import numpy as np
import pytest
from fa3c.memory.numbers import USUAL, normals, updated
from fa3c.memory.rms_program import Program
from fa3c.memory.rms_top import RmsTop, rms_cycles
from later import later

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.memory.rms_command import RmsKind
from sim.model.fa3c.memory.rms import update_layer
from sim.model.fa3c.memory.transposed import transpose_layer, transpose_theta

MEMORY_LATENCY, SNAPSHOT_LATENCY = 64, 64
#: Longest pauses of sources, of memory, of the reply.
PAUSES = [(0, 0, 0), (60, 2, 0), (3, 30, 50)]


def settings(channels, filters, outputs, **more):
    """A convolution of one pixel: groups of channels + 1 rows; then groups of all filters' ."""
    return dict(
        height=1,
        width=1,
        channels=channels,
        binary32=True,
        lanes=1,
        convolutions=((filters, 1, 1),),
        hidden=(),
        outputs=outputs,
        snapshots=3,
        units=("any", "infer", "train"),
    ) | dict(rms_units=2, **more)


def run(simulate, tmp_path, program, given, **case):
    simulate(
        RmsTop(program.config),
        "fa3c.memory.rms_bench",
        config=given,
        program=program.save(tmp_path / "program.json"),
        **{"pauses": PAUSES, "latency": MEMORY_LATENCY} | case,
    )


def test_twin_of_a_layer():
    """Rows of each group in turn; those that fill it up, and other layers, stay."""
    config, rng = Fa3cConfig(**settings(3, 33, 3)), np.random.default_rng(1)
    theta, squares = (normals(rng, 112 * 16).reshape(112, 16) for _ in range(2))
    gradients = normals(rng, 12 * 16).reshape(12, 16)
    rows = [group * 16 + row for group in range(3) for row in range(4)]
    new_squares, new_theta = squares.copy(), theta.copy()
    new_squares[rows], new_theta[rows] = updated(USUAL, gradients, squares[rows], theta[rows])
    update_layer(config, 0, USUAL, gradients, squares, theta)
    np.testing.assert_array_equal(squares, new_squares)
    np.testing.assert_array_equal(theta, new_theta)
    message = "gradients must be of shape (49, 16), not (12, 16)"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        update_layer(config, 1, USUAL, gradients, squares, theta)


def test_twin_says_what_is_not_finite():
    """hw_arrays 5: bit 0 of theta, bit 1 of squares; rows that fill up a group are nobody's."""
    config = Fa3cConfig(**settings(3, 33, 3))
    theta, squares = (np.zeros((112, 16), np.float32) for _ in range(2))
    theta[4:16], squares[4:16] = np.inf, np.nan
    gradients = np.ones((12, 16), np.float32)

    def updated(row, word, gradient):
        gradients[row, word] = gradient
        return update_layer(config, 0, USUAL, gradients, squares, theta)

    assert updated(0, 0, 1e15) == 0
    assert updated(11, 15, -1e20) == 0b10
    assert np.isfinite(theta[:4]).all() and np.isinf(squares[35, 15])
    squares[35, 15] = 0
    assert updated(11, 15, 1) == 0
    theta[0, 0] = -np.inf
    assert updated(11, 15, 1) == 0b01
    assert updated(4, 1, np.inf) == 0b11


@pytest.mark.parametrize("kind", ["waits", pytest.param("random", marks=pytest.mark.long)])
def test_commands(simulate, tmp_path, kind):
    """Every kind, a layer again at once, units in turn; and no row is read too early."""
    # 2 groups of 2 rows, 1 of 33; 80 rows of theta; as many snapshots as can be.
    given = settings(1, 17, 3) | dict(rms_units=4, snapshots=64)
    program = Program(Fa3cConfig(**given), 1)
    program.update(2, 0)
    program.update(0, 0)
    program.sync(0)
    program.update(2, 1)
    program.load("theta")
    program.load("squares")
    program.store("theta")
    program.sync(63)
    program.update(0, 0)
    program.store("squares")
    # Each row of a layer is read twice, of theta and squares.
    before = dict(writes=2 * 4, snapshots=4 * 4 + 80)
    case = dict(clocks=dict(writes=250, snapshots=700), read=before)
    run(simulate, tmp_path, program, given, kinds=[kind], **case)


def test_layers_of_a_deep_network(simulate, tmp_path):
    """Survivor 01: the last of seven layers, the most that there can be."""
    filters = [(16, 1, 1), (2, 1, 1), (3, 1, 1), (2, 1, 1)]
    given = settings(1, 16, 3) | dict(convolutions=filters, hidden=(2, 3))
    program = Program(Fa3cConfig(**given), 6)
    for layer in (6, 4, 5):
        program.update(0, layer)
    run(simulate, tmp_path, program, given, kinds=["random"])


@pytest.mark.parametrize(
    "rms_units, sizes, hidden",
    [(4, (1, 17, 3), 2), later(16, (2, 33, 19), 16), later(4, (2, 33, 19), 16)],
)
def test_transposed_image(simulate, tmp_path, rms_units, sizes, hidden):
    """Alt2: LOAD makes it, an UPDATE changes weights of all layers but the first, a SYNC copies
    it."""
    given = settings(*sizes) | dict(rms_units=rms_units, layout="alt2", hidden=(hidden,))
    program = Program(Fa3cConfig(**given), 8)
    for layer in (1, 0, 2):
        program.update(0, layer)
    program.sync(2)
    program.load("squares")
    program.load("theta")
    program.update(2, 1)
    program.store("theta")
    program.sync(1)
    pauses = PAUSES[1:] if hidden == 16 else PAUSES[2:]
    run(simulate, tmp_path, program, given, kinds=["random"], pauses=pauses)


def test_twin_of_the_transposed_image():
    """Patch by patch; of a layer its weights alone, of the first nothing."""
    config = Fa3cConfig(**settings(2, 33, 19), layout="alt2")
    first, rows = config.layers[0].rows, config.theta_rows
    theta = np.arange(config.snapshot_rows * 16, dtype=np.float32).reshape(-1, 16)
    kept = theta.copy()
    transpose_theta(config, theta)
    np.testing.assert_array_equal(theta[:rows], kept[:rows])
    for row in range(first, rows, 16):
        place = row + rows - first
        np.testing.assert_array_equal(theta[place : place + 16], kept[row : row + 16].T)
    theta, layer = kept.copy(), config.layers[1]
    transpose_layer(config, 0, theta)
    np.testing.assert_array_equal(theta, kept)
    transpose_layer(config, 1, theta)
    changed = np.flatnonzero((theta != kept).any(axis=1)) - rows
    groups = [g * layer.group_rows + k for g in range(layer.groups) for k in range(layer.depth)]
    assert changed.tolist() == groups
    usual = Fa3cConfig(**settings(2, 33, 19))
    assert usual.transposed_rows == 0 and usual.snapshot_rows == rows
    transpose_theta(usual, theta[:rows])
    np.testing.assert_array_equal(theta[:rows], kept[:rows])


@pytest.mark.long
@pytest.mark.parametrize("rms_units, seed", [(4, 2), later(1, 5), later(8, 3), later(16, 4)])
def test_random_commands(simulate, tmp_path, rms_units, seed):
    given = settings(3, 33, 19) | dict(rms_units=rms_units)
    program = Program(Fa3cConfig(**given), seed)
    program.random(25)
    assert len({kind for kind, _ in program.kinds}) == len(RmsKind)
    run(simulate, tmp_path, program, given, kinds=["random"])


#: Rows of a group of the first layer, groups of it and of the second, whose groups have 16 rows for
#: each of the first and one: short of a burst, one, more by one, by some, by nearly a burst.
SHAPES = [(2, 1, 1), (6, 1, 2), (15, 3, 1), (16, 3, 1), (17, 3, 1), (37, 2, 3), (47, 3, 1)]
LONG_SHAPES = [
    pytest.param(rms_units, *shape, marks=pytest.mark.long)
    for rms_units, shapes in (
        (1, [(5, 2, 1)]),
        (8, [(4, 3, 1), *SHAPES]),
        (2, SHAPES[1::2]),
        (4, SHAPES[::2]),
        (16, SHAPES[::2]),
    )
    for shape in shapes
]


@pytest.mark.parametrize("rms_units, group, first, second", [(8, 4, 1, 1), *LONG_SHAPES])
def test_clocks(simulate, tmp_path, rms_units, group, first, second):
    """16 / rms_units clocks a row of UPDATE, at least 2; one of the others; and what is fixed."""
    given = settings(group - 1, 16 * first, 16 * second) | dict(rms_units=rms_units)
    config = Fa3cConfig(**given)
    program = Program(config, 2)
    program.update(0, 0)
    program.update(2, 1)
    program.load("theta")
    program.sync(2)
    program.store("squares")
    memory = MEMORY_LATENCY, SNAPSHOT_LATENCY
    cycles = [rms_cycles(config, RmsKind[name], layer, *memory) for name, layer in program.kinds]
    run(simulate, tmp_path, program, given, kinds=["pace"], cycles=cycles)
