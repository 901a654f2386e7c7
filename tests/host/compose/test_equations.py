"""PEARL's equations, with the numbers of its text."""

import pytest

from host.compose.equations import (
    clocks_us,
    iteration_us,
    learner_clocks,
    pipelines,
    portability,
    sample_clocks,
    transfer_us,
    update_clocks,
)
from hw.errors import UsageError


@pytest.mark.parametrize(
    "sram, manager, pipeline, count",
    [(100, 40, 20, 3), (100, 41, 20, 2), (100, 0, 100, 1), (100, 0, 0.5, 200), (99, 40, 20, 2)],
)
def test_pipelines(sram, manager, pipeline, count):
    """Equation 2: as many as fit, the last one exactly."""
    assert pipelines(sram, manager, pipeline) == count
    assert manager + count * pipeline <= sram < manager + (count + 1) * pipeline


@pytest.mark.parametrize(
    "sizes, message",
    [
        ((100, 40, 0), "pipeline must be positive, not 0"),
        ((100, 40, 61), "sram must be at least 101, for the replay manager and one pipeline on"),
        ((100, 101, 1), "sram must be at least 102"),
    ],
)
def test_no_pipeline(sizes, message):
    with pytest.raises(UsageError, match=message):
        pipelines(*sizes)


def test_replay_manager():
    """Equations 4 and 5 for a fanout and a batch of 64 and four levels, and of all different."""
    assert sample_clocks(64, 64, 4) == 8704 and update_clocks(64, 4) == 136
    assert sample_clocks(16, 32, 5) == 1184 and update_clocks(32, 5) == 74


def test_learner():
    """Equation 6: three layers propagate twice more, three clocks of a stage each."""
    assert learner_clocks(40, 64, 3) == 2800
    assert learner_clocks(7, 10, 1) == 70


def test_times():
    assert clocks_us(8704, 400) == 21.76
    assert transfer_us(10, 32_000, 16) == 12  # 32 kB at 16 GB/s take 2 us
    assert transfer_us(0, 12, 0.5) == 0.024


@pytest.mark.parametrize(
    "parts, total", [((5, 3, 2, 7), 14), ((5, 9, 2, 7), 14), ((5, 9.5, 2, 7), 14.5)]
)
def test_iteration(parts, total):
    """Equation 7: insertions run beside learning and updates."""
    assert iteration_us(*parts) == total


def test_portability():
    """Equation 8: 2 / (1/3 + 1/6) = 4; less than the mean."""
    assert portability([3, 6]) == pytest.approx(4, rel=1e-12)
    assert portability(iter([5])) == 5
    assert portability([3, 0, 6]) == 0
    with pytest.raises(UsageError, match="rates must be one or more, not none"):
        portability([])
