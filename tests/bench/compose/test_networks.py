"""bench.compose.networks: which networks and kernel the clocks are of, and PEARL's equation 6."""

import itertools

import pytest

from bench.compose import networks
from hw.arith.arithmetic import Arithmetic
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
