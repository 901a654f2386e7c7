"""hw.fa3c.memory.update_clocks: where a row is a beat, they are those of the formula that is held
to the RTL; where it is several, rows wait for queues of a burst."""

from dataclasses import replace

import pytest
from fa3c.memory.rms_top import rms_cycles
from fa3c.memory.test_rms import SHAPES, settings

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.memory import update_clocks as clocks
from hw.fa3c.memory.rms_command import RmsKind
from hw.fa3c.memory.update_clocks import update_clocks
from hw.shell.axi import EngineConfig
from hw.shell.memory_clocks import READ

#: Clocks between a request and memory that an engine adds to those of ``rms_cycles``; those by
#: which the answer to a write is earlier.
_ENGINE, _ANSWER = 4, 30


def of(data_width, burst_beats, group=1025, groups=8, rms_units=8):
    engine = EngineConfig(data_width=data_width, depth=128, burst_beats=burst_beats)
    config = Fa3cConfig(
        height=1, width=1, channels=group - 1, convolutions=(), hidden=(16 * groups,),
        binary32=True, rms_units=rms_units, engine=engine,
    )  # fmt: skip
    return update_clocks(config, 0)


@pytest.mark.parametrize("rms_units", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("group, first, second", SHAPES)
def test_a_row_a_beat(monkeypatch, rms_units, group, first, second):
    """As of the kernel of test_rms, whose queues are all as long as that of theta."""
    monkeypatch.setattr(clocks, "PORT_READ", clocks.AHEAD)
    clocks._clocks.cache_clear()
    given = settings(group - 1, 16 * first, 16 * second) | dict(rms_units=rms_units)
    config = Fa3cConfig(**given)
    for layer in (0, 1):
        cycles = rms_cycles(config, RmsKind.UPDATE, layer, READ + _ENGINE, 0)
        found = update_clocks(config, layer)
        # In the engine the last burst waits until it is whole, and for bursts before it.
        last = config.layers[layer].depth % 16 + 1
        assert 0 <= found.done - cycles + _ANSWER - last <= 16
        assert len(found.taken) == config.layers[layer].gradient_rows
    clocks._clocks.cache_clear()


def test_the_shorter_queue_of_squares_costs_once():
    config = Fa3cConfig()
    found = update_clocks(config, 2), update_clocks(replace(config, rms_units=16), 2)
    rows = config.layers[2].gradient_rows
    assert all(2 * rows < each.done < 2 * rows + 320 for each in found)


def test_images_on_masters_of_their_own():
    """A row a clock with 16 RUs; a transposed image is written by the master of theta."""
    config = Fa3cConfig(rms_units=16, global_masters=2)
    rows = config.layers[2].gradient_rows
    assert rows < update_clocks(config, 2).done < rows + 320
    assert 2 * rows < update_clocks(replace(config, layout="alt2"), 2).done < 2.02 * rows
    assert update_clocks(replace(config, layout="alt2"), 0) is update_clocks(config, 0)


def test_a_transposed_image_is_a_third_write():
    config = Fa3cConfig(layout="alt2")
    rows = config.layers[2].gradient_rows
    assert 3 * rows < update_clocks(config, 2).done < 3.02 * rows
    assert update_clocks(replace(config, rms_units=4), 2).done < 4.02 * rows


def test_a_row_of_several_beats():
    """Two images through one master: 2 rows, of 2 or 4 beats each. A queue of four bursts hides
    memory; one of a burst does not, and a burst of each image comes before the next row."""
    rows = 8 * 1025
    assert 4 * rows < of(256, 16).done < 4.3 * rows
    assert 8 * rows < of(128, 16).done < 8.6 * rows
    alone = of(128, 64)
    assert 12.4 * rows < alone.done < 13.4 * rows
    assert of(128, 16, rms_units=1).done > 16 * rows
    assert list(alone.taken) == sorted(set(alone.taken))
