"""hw.timing in FA3C: where periods are skipped, clocks are those of a walk through all items."""

from contextlib import contextmanager
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hw.fa3c import round_clocks
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.memory import update_clocks
from hw.shell.axi import EngineConfig
from hw.timing import Repeats

powers = st.sampled_from([1, 2, 4, 8, 16])
engines = st.builds(
    EngineConfig,
    data_width=st.sampled_from([128, 256, 512]),
    depth=st.sampled_from([128, 256]),
    burst_beats=st.sampled_from([1, 4, 16, 64]),
)


@contextmanager
def walked():
    """Nothing repeats."""
    with patch.object(Repeats, "times", lambda self, before, now: 0):
        yield


def network(engine, convolutions=(), size=1, **sizes):
    return Fa3cConfig(
        height=size, width=size, convolutions=convolutions, input_exponent=0, units=("any",),
        engine=engine, **sizes,
    )  # fmt: skip


def check(config, train, count, sharing):
    own = round_clocks._compute_unit(config), train, count, sharing
    found = round_clocks._clocks.__wrapped__(*own)
    with walked():
        assert vars(found) == vars(round_clocks._clocks.__wrapped__(*own))


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_tasks_of_dense_layers(data):
    """Rings of a few rows or of all, rows of several beats, and as many rows a clock as memory
    brings or fewer."""
    draw = data.draw
    config = network(
        draw(engines), channels=16 * draw(st.integers(1, 40)), lanes=draw(powers),
        hidden=(16 * draw(st.integers(1, 12)),), drain_words=draw(powers),
        parameter_rows=draw(st.sampled_from([64, 256, 1024])), steps=5, batch=4,
        binary32=True, outputs=3,
    )  # fmt: skip
    check(config, draw(st.booleans()), draw(st.integers(1, 4)), draw(st.integers(1, 4)))


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_tasks_of_convolutions(data):
    draw = data.draw
    layers = draw(st.sampled_from([((16, 3, 1),), ((32, 2, 2),), ((16, 4, 2), (32, 2, 1))]))
    config = network(
        draw(engines), layers, size=10, lanes=draw(powers), hidden=(32,), outputs=5,
        drain_words=draw(powers), steps=3, batch=4, parameter_rows=1024,
    )  # fmt: skip
    check(config, draw(st.booleans()), draw(st.integers(1, 3)), draw(st.integers(1, 3)))


@pytest.mark.parametrize("lanes, rows, width", [(4, 4096, 512), (4, 1024, 128), (16, 4096, 512)])
@pytest.mark.parametrize("train", [False, True])
def test_the_network_of_the_paper(lanes, rows, width, train):
    """The ring is filled, then memory or the PEs bind, over several groups."""
    engine = EngineConfig(data_width=width, depth=256, burst_beats=16)
    config = Fa3cConfig(lanes=lanes, parameter_rows=rows, drain_words=2, engine=engine)
    check(config, train, 4, 1)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 8), st.integers(1, 400), powers, engines, st.booleans(), st.integers(1, 2))
@example(2, 900, 1, EngineConfig(data_width=128, depth=256, burst_beats=64), False, 1)
def test_updates(groups, group, rms_units, engine, twofold, masters):
    arguments = groups, group, rms_units, engine, twofold, masters
    found = update_clocks._clocks.__wrapped__(*arguments)
    with walked():
        own = update_clocks._clocks.__wrapped__(*arguments)
    assert vars(found) == vars(own)
