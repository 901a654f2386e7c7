"""hw.fa3c.unit.row_clocks: rows behind one another, in turn from two masters, as far as there is
room; and a task that waits for them."""

from dataclasses import replace

import pytest
from fa3c.networks import NETWORKS

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.plan import forward_passes, training_passes
from hw.fa3c.unit.pass_clocks import pass_clocks, run_passes
from hw.fa3c.unit.row_clocks import ParameterRows, Reads, beats_of_row, first_beat
from hw.shell.axi import EngineConfig

LATENCY = 64


def engine(data_width, burst_beats=16):
    return EngineConfig(data_width=data_width, burst_beats=burst_beats)


@pytest.mark.parametrize("data_width, beats", [(512, 1), (256, 2), (128, 4)])
@pytest.mark.parametrize("stripes", [1, 2])
def test_a_run(data_width, beats, stripes):
    """The first row after the latency, the others a row's beats apart. Two masters are hardly
    faster than one: only the first row of a block is joined while the one before it comes."""
    own = engine(data_width)
    assert beats_of_row(own) == beats
    found = Reads(own, LATENCY, stripes).ask(0, 0, 160)
    first = first_beat(own, LATENCY) + (2 if stripes > 1 else 0)
    assert found[0] == 1 + first + beats - 1 + (beats > 1)
    steps = {after - before for before, after in zip(found, found[1:], strict=False)}
    assert len(found) == 160
    if stripes == 2:
        assert steps == {1, beats}
        assert found[-1] - found[0] == 159 * beats - 9 * (beats - 1)
    else:
        assert min(steps) == beats


def test_a_queue_shorter_than_the_latency():
    """One master of rows: 64 places, of which each is free again after more clocks than that."""
    own = engine(512)
    found = Reads(own, LATENCY, 1).ask(0, 0, 640)
    assert 640 * (first_beat(own, LATENCY) - 2) / 64 < found[-1] < 1.3 * 640 + 2 * LATENCY
    assert Reads(own, 30, 1).ask(0, 0, 640)[-1] < 640 + 60


def test_a_burst_that_fills_the_queue():
    """A burst of 64 beats is read only when the one before it on the same master has left."""
    short, long = (Reads(engine(128, burst), LATENCY).ask(0, 0, 320)[-1] for burst in (16, 64))
    assert short < 4 * 320 + 80 < 1.08 * short < long < 1.15 * short


def test_who_shares_a_master():
    alone, half = (Reads(engine(128), LATENCY, sharing=n).ask(0, 0, 160)[-1] for n in (1, 2))
    assert half > 1.7 * alone
    before = Reads(engine(128), LATENCY)
    before.ask(0, 0, 64)
    turns = Reads(engine(128), LATENCY, before=before).ask(0, 0, 64)[-1]
    assert 4 * 64 + LATENCY < turns <= 8 * 64 + LATENCY + 20


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("train, layout", [(0, "tlu"), (1, "tlu"), (1, "alt1"), (1, "alt2")])
def test_a_task_that_waits_for_its_rows(name, train, layout):
    """All rows are taken and the ring is never more than full; narrower masters take longer, and
    without a memory there are the clocks of ``pass_clocks``."""
    found = []
    for data_width in (512, 256, 128):
        config = replace(NETWORKS[name], engine=engine(data_width), layout=layout)
        passes = (training_passes if train else forward_passes)(config)
        rows = ParameterRows(config, passes, Reads(config.engine, LATENCY))
        every = run_passes(config, passes, config.batch, None, rows)
        assert [each.start for each in every[1:]] == [each.end for each in every[:-1]]
        found.append(every[-1].end)
        asked = sum(p.segments.total for p in passes if p.segments is not None)
        assert rows.count == asked and len(rows.free) <= config.parameter_rows
    assert found == sorted(found)
    assert found[0] >= sum(pass_clocks(config, passes, config.batch))


def test_the_ring_of_an_inference():
    """A dense layer of 128 outputs: its rows, of four beats, bind; a ring of 64 rows will do."""
    config = Fa3cConfig(
        height=1, width=1, channels=1024, convolutions=(), hidden=(128,), binary32=True,
        units=("any",), engine=engine(128), parameter_rows=64,
    )  # fmt: skip
    passes = forward_passes(config)
    rows = ParameterRows(config, passes, Reads(config.engine, LATENCY))
    end = run_passes(config, passes, 2, None, rows)[-1].end
    assert 0.94 < end / (4 * sum(layer.gradient_rows for layer in config.layers)) < 1.2
