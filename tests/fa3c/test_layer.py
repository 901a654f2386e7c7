"""The fast twins of a layer's passes against the table of passes, step by step; bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
from fa3c.networks import NETWORKS, network, observations, random_networks, theta
from fa3c.plan_walk import Walk

from hw.fa3c.config import LINE_ROWS, SLOTS, Fa3cConfig
from hw.fa3c.pass_types import Kind
from hw.fa3c.plan import forward_passes, training_passes
from hw.fa3c.rows import ROW, ROW_BYTES
from sim.model.fa3c.layer import LayerTwin
from sim.model.fa3c.memory.transposed import transpose_theta

each_network = pytest.mark.parametrize("config", NETWORKS.values(), ids=NETWORKS)

SPECIAL = np.array(
    [0, -0.0, 1e-39, -1e-39, 1e-38, 2e-20, -3e-20, np.inf, -np.inf, np.nan, 3e38, -1.0], np.float32
)


def bits(array):
    return np.ascontiguousarray(array, np.float32).view(np.uint32)


def same(found, wanted, where):
    np.testing.assert_array_equal(bits(found), bits(wanted), err_msg=where)


def spoilt(rng, numbers, share, kinds=SPECIAL):
    """``numbers``, a few of them replaced."""
    chosen = rng.choice(kinds, numbers.shape)
    return np.where(rng.random(numbers.shape) < share, chosen, numbers).astype(np.float32)


def parameters(config, rows, number):
    layer, base = config.layers[number], config.parameter_bases[number]
    return rows[base : base + layer.rows].reshape(layer.groups, layer.group_rows, ROW)


def check(config, rows, screens, errors):
    """All passes of an inference of ``screens``, and of a training task of ``errors``. The outputs
    of more samples than PEs have slots for are those of several inferences: the twin's."""
    count, layers = len(screens), range(len(config.layers))
    twins = [LayerTwin(config, number) for number in layers]
    snapshot = np.zeros((config.snapshot_rows, ROW), np.float32)
    snapshot[: config.theta_rows] = rows
    transpose_theta(config, snapshot)
    walk = Walk(config, snapshot, count)
    raw = screens.reshape(count, -1, ROW_BYTES)
    walk.put(0, raw.view(np.float32) if config.binary32 else raw)
    maps = [twins[0].numbers(screens)]
    for plan, twin in zip(forward_passes(config), twins, strict=True):
        maps.append(twin.forward(parameters(config, rows, plan.layer), maps[-1]))
        if count > SLOTS // plan.partials:
            walk.put(plan.layer + 1, maps[-1].reshape(count, -1, ROW))
            continue
        walk.execute(plan)
        same(maps[-1], walk.get(plan.layer + 1), f"FW {plan.layer}")
    walk.put(len(layers), errors.reshape(count, -1, ROW))
    for plan in training_passes(config):
        number = plan.layer
        walk.execute(plan)
        if plan.kind is Kind.GC:
            found = twins[number].gradient(maps[number], errors)
            same(found.reshape(-1, ROW), walk.gradients, f"GC {number}")
            walk.gradients.clear()
        else:
            weights = parameters(config, rows, number)
            errors = twins[number].backward(weights, errors, maps[number])
            same(errors, walk.get(number), f"BW {number}")


@each_network
@pytest.mark.parametrize("count", [1, 3])
def test_the_table_of_passes(config, count):
    rng = np.random.default_rng(count)
    count = min(count, config.samples)
    errors = rng.standard_normal((count, config.map_rows[-1] * ROW)).astype(np.float32)
    check(config, theta(config, rng), observations(config, rng, count), errors)


@pytest.mark.parametrize("layout", ["alt1", "alt2"])
@pytest.mark.parametrize(
    "name", ["one lane", "four lanes", "sixteen lanes", "three layers", "vectors", "one layer"]
)
def test_other_layouts(name, layout):
    """FA3C's alternatives: bits are those of the transpose unit's."""
    config, rng = replace(NETWORKS[name], layout=layout), np.random.default_rng(4)
    errors = rng.standard_normal((2, config.map_rows[-1] * ROW)).astype(np.float32)
    check(config, theta(config, rng), observations(config, rng, 2), errors)


@pytest.mark.parametrize("steps, lanes", [(17, 1), (32, 1), (32, 8), (16, 4)])
def test_as_many_samples_as_a_training_may_have(steps, lanes):
    """One partial sum of an error where two of so many samples have no slots."""
    config = replace(NETWORKS["long rollouts"], steps=steps, lanes=lanes)
    rng = np.random.default_rng(2)
    assert config.error_partials == (2 if steps == 16 else 1)
    errors = rng.standard_normal((steps, config.map_rows[-1] * ROW)).astype(np.float32)
    check(config, theta(config, rng), observations(config, rng, steps), errors)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_random_networks(seed):
    rng = np.random.default_rng(seed)
    for config in random_networks(15 if seed == 1 else 150, seed):
        count = int(rng.integers(1, config.samples + 1))
        errors = rng.standard_normal((count, config.map_rows[-1] * ROW)).astype(np.float32)
        check(config, theta(config, rng), observations(config, rng, count), errors)


@pytest.mark.parametrize("width, joined", [(16, 2), (17, 1)])
def test_joined_tap_rows_fit_the_line_buffer(width, joined):
    """A line of ``width`` rows and 4 chunks: two lines fill the buffer, or are more than it has."""
    first = dict(height=4, width=width, channels=16, convolutions=((1, 4, 1),), hidden=())
    config, rng = network(**first, lanes=16, binary32=True), np.random.default_rng(3)
    (plan,) = (each for each in training_passes(config) if each.layer == 0)
    assert plan.fill.counts[5] == joined * width <= LINE_ROWS
    errors = rng.standard_normal((2, config.map_rows[-1] * ROW)).astype(np.float32)
    check(config, theta(config, rng), observations(config, rng, 2), errors)


@pytest.mark.long
def test_the_network_of_the_paper():
    rng, config = np.random.default_rng(0), Fa3cConfig()
    errors = rng.standard_normal((2, config.map_rows[-1] * ROW)).astype(np.float32)
    check(config, theta(config, rng, 0.05), observations(config, rng, 2), errors)


@pytest.mark.parametrize("name", ["usual", "four lanes", "vectors of words"])
@pytest.mark.parametrize("share", [0.001, 0.03])
@pytest.mark.parametrize("kinds", [SPECIAL, SPECIAL[:7]], ids=["special", "small"])
def test_special_numbers(name, share, kinds):
    """Subnormals, infinities, NaN and zeros of both signs, in all that a pass reads."""
    config, rng = NETWORKS[name], np.random.default_rng(5)
    rows = spoilt(rng, theta(config, rng), share, kinds)
    screens = observations(config, rng, 2)
    if config.binary32:
        screens = spoilt(rng, screens.view(np.float32), share, kinds).view(np.uint8)
    errors = rng.standard_normal((2, config.map_rows[-1] * ROW)).astype(np.float32)
    check(config, rows, screens, spoilt(rng, errors, share, kinds))


@pytest.mark.parametrize("exponent", [-145, -127, -126, -120, -105, -104, -103, -102, -60, 0, 126])
@pytest.mark.parametrize("tiny", ["theta", "errors"])
def test_every_scale(exponent, tiny):
    """Products and sums below the smallest normal number are flushed one by one, at any scale:
    numbers that differ in their last bit cancel, and leave 2**-23 of themselves."""
    config, rng = NETWORKS["usual"], np.random.default_rng(7)

    def numbers(shape, exponent):
        ends = np.array([1, -1, 1 + 2**-23, -1 - 2**-23]) * 2.0**exponent
        return rng.choice(ends, shape).astype(np.float32)

    screens = np.uint8(128) * (observations(config, rng, 3) > 0)
    rows = numbers((config.theta_rows, ROW), exponent if tiny == "theta" else -2)
    errors = numbers((3, config.map_rows[-1] * ROW), exponent if tiny == "errors" else 0)
    check(config, rows, screens, errors)
