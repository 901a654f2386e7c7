"""Slots of layers: so many that the slowest unit alone decides how long a gradient step is."""

import random

import pytest
from learner.test_estimate import MAPPED

from bench.learner.step_clocks import case_of, measure
from hw.arith.arithmetic import Arithmetic
from hw.errors import UsageError
from hw.learner.config import LearnerConfig
from hw.learner.placed_layers import placed
from hw.learner.samples.sample_reader import SampleReader
from hw.learner.schedule import step_units
from hw.learner.step_clocks import banks_of, pace, slots_of, step_clocks


def learner(sizes, lanes, **options):
    observation, *hidden, action = sizes
    return LearnerConfig(
        observation=observation, hidden=tuple(hidden), action=action, lanes=lanes, **options
    )


#: Small kernels in binary32 for which it is not enough to count the layers from a slot's own on:
#: one slot less and a step takes longer.
TIGHT = [
    learner((3, 4, 1), 1, multipliers=8, double=False, optimizer="sgd", update_units=1),
    learner((3, 5, 1), 1, multipliers=8, double=False),
    learner((5, 5, 8, 5, 4), 1, algorithm="ddpg"),
    learner((7, 3, 2), 4, algorithm="ddpg", multipliers=64, hidden_activation="tanh"),
]


def random_learner(rng):
    """A LearnerConfig of any kind; half of them with words that are given."""
    algorithm, layers = rng.choice(["dqn", "ddpg"]), rng.randint(1, 4)
    hidden = [rng.choice([3, 5, 8, 12, 16, 24, 32]) for _ in range(layers)]
    sizes = rng.randint(1, 20), *hidden, rng.randint(1, 6)
    options = dict(
        algorithm=algorithm,
        batch=256,
        arithmetic=Arithmetic(kind=rng.choice(["float32", "float32", "fixed"])),
        hidden_activation=rng.choice(["relu", "tanh"]),
        double=rng.choice([True, False]),
        multipliers=rng.choice([1, 2, 4, 5, 8, 9, 16, 32, 64]),
    )
    if algorithm == "dqn" and rng.random() < 0.5:
        inner = [rng.randint(1, 12) for _ in hidden]
        options["words"] = (rng.choice([1, 2, 4]), *inner, rng.choice([1, 2]))
    return learner(sizes, rng.choice([1, 1, 2, 4, 8]), **options)


def a_sample(config):
    """Clocks of a super-sample in a gradient step that has long begun. Where backward is slower
    than all that is before it, a step's end keeps the pace and its TD errors are ahead of it."""
    few, many = (step_clocks(config, count * config.lanes).step for count in (96, 144))
    return (many - few) / 48


@pytest.mark.parametrize("config", TIGHT, ids=case_of)
def test_no_sample_waits_for_a_slot_of_a_layer_behind_a_long_one(config):
    assert a_sample(config) == pace(config)


def test_the_slowest_unit_decides_the_pace_of_any_kernel():
    """Where DDPG's reader is the slowest, it may wait longer: words of the actor come many at a
    time, and what is read ahead is not enough for all of them."""
    rng, found, by_reading = random.Random(0), 0, 0
    while found < 80:
        try:
            config = random_learner(rng)
            config.networks  # noqa: B018, it checks the words
        except UsageError:
            continue
        found += 1
        if config.algorithm == "ddpg" and SampleReader.interval_of(config) == pace(config):
            by_reading += 1
            assert SampleReader.last_read_of(config) < a_sample(config) <= 1.1 * pace(config), (
                config
            )
        else:
            assert a_sample(config) == pace(config), config
    assert by_reading > 3


@pytest.mark.parametrize(
    "name, slots",
    [
        ("dqn, fixed, CF'22", (15, 12)),
        ("ddpg, fixed, CF'22", (14, 13, 14, 6)),
        ("dqn, float32, two hidden layers", (7, 6, 3)),
    ],
)
def test_slots_of_kernels_that_have_been_mapped(name, slots):
    """Areas of these are on record."""
    assert slots_of(MAPPED[name][0].learner) == slots


#: The layers of this kernel take 3 clocks for a sample, and reading one takes 12.
READ = learner(
    (20, 3, 2),
    1,
    multipliers=64,
    double=False,
    optimizer="sgd",
    arithmetic=Arithmetic(kind="fixed"),
)


def test_where_reading_is_the_slowest():
    """Clocks that the long test holds to the simulated kernel."""
    assert a_sample(READ) == pace(READ) == SampleReader.interval_of(READ) == 12
    assert [step_clocks(READ, batch).step for batch in (4, 64)] == [177, 897]


@pytest.mark.long
@pytest.mark.parametrize("config", [TIGHT[0], READ], ids=case_of)
def test_clocks_of_kernels_by_formula(config):
    for (part, metric), (measured, formula) in measure(config).items():
        assert measured == formula, (part, metric)


def test_clocks_of_the_kernel_that_waited_for_a_slot():
    """Clocks that the long test holds to the simulated kernel; with a slot less, a step has 735."""
    assert slots_of(TIGHT[0]) == (16, 12)
    assert step_clocks(TIGHT[0], 64).step == 700


def test_no_sample_waits_for_a_bank():
    """The layer behind begins no sample before its bank is free: the last input word of an earlier
    sample has been taken. Each bank is needed by some kernel."""
    rng, checked, tight = random.Random(1), 0, 0
    while checked < 60:
        try:
            config = random_learner(rng)
            layers, units = placed(config), step_units(config, 60)
        except UsageError:
            continue
        checked += 1
        begins = [
            [begin for begin, _ in units[f"{layer.network} {layer.position} backward"]]
            for layer in layers
        ]
        every = banks_of(config)
        assert every[-1] == 2
        for layer, own, behind, banks in zip(layers, begins, begins[1:], every, strict=False):
            words = (layer.shape.input_words - 1) * layer.shape.output_words
            late = [
                any(behind[n + count] <= own[n] + words for n in range(30, 60 - count))
                for count in (banks, banks - 1)
            ]
            assert not late[0], (config, layer, banks)
            tight += late[1]
    assert tight > 20
