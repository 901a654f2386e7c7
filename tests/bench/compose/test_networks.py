"""bench.compose.networks: which networks and kernel the clocks are of, and PEARL's equations of its
own modules, with the numbers of its text."""

import itertools

import pytest

from bench.compose import networks
from bench.compose.fpga_equations import (
    learner_clocks,
    pipelines,
    sample_clocks,
    update_clocks,
)
from hw.arith.arithmetic import Arithmetic
from hw.errors import UsageError
from hw.learner.config import LearnerConfig
from hw.learner.step_clocks import step_clocks

#: The environment has the first; Table III prints the second.
SIZES = [(2, 1), (8, 4)]


def test_equation_6_by_hand():
    """The critic's second matrix is the slowest: 20 x 12 weights, 2 x 3 multipliers."""
    config = LearnerConfig(
        algorithm="ddpg", observation=5, action=2, hidden=(20, 12), lanes=2,
        words=((2, 2, 3, 1), (1, 4, 3, 2)), arithmetic=Arithmetic(kind="float32"),
    )  # fmt: skip
    assert networks.equation_6(config, 64) == 20 * 12 / 6 * (32 + 9)
    one = LearnerConfig(hidden=(64,), words=(4, 8, 2), lanes=1, batch=64)
    assert networks.equation_6(one, 64) == 8 * (64 + 6)


@pytest.mark.parametrize("observation, action", SIZES)
def test_the_network_is_table_iiis(observation, action):
    config = networks.learner(observation, action, 512)
    assert (config.algorithm, config.hidden, config.batch) == ("ddpg", (256, 128), 512)
    assert (config.observation, config.action) == (observation, action)


def test_rows():
    found = {row["case"]: row for row in networks.rows()}
    assert len(found) == 4
    for (observation, action), batch in itertools.product(SIZES, (32, 512)):
        [(case, row)] = [
            each for each in found.items()
            if each[0].startswith(f"ddpg {observation}-256-128-{action}, ")
            and each[0].endswith(f"B={batch}")
        ]  # fmt: skip
        config = networks.learner(observation, action, batch)
        assert row["value"] == step_clocks(config, batch).step
        assert row["reference_value"] == round(networks.equation_6(config, batch))
        # Multiply-accumulates of the second matrix: no multiplier does more than one in a clock.
        assert row["value"] > 256 * 128 * batch / config.lanes / config.multipliers
        assert "U200" in row["source"] and f"DP={config.lanes}" in case


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
