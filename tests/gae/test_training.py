"""PPO with advantages from the card: the same on ``sim`` and ``model``."""

import json

import numpy as np
import pytest
from gae.reference import rollout
from gae.test_kernel import NARROW
from replay.kernels import opened
from rich.console import Console

from host.advantages.estimator import AdvantageEstimator
from host.advantages.standardization import Standardization
from host.runs.preset import preset
from host.runs.run_log import read_progress
from host.runs.start_run import run


def test_rollouts_are_the_same_on_both_cards():
    """Of more environments than the kernel has rows, with all that is kept from one to the next."""
    ways = Standardization(rewards="dynamic", values="restored", code_bits=6)
    with opened("sim", NARROW) as kernel, opened("model", NARROW) as twin:
        estimators = [AdvantageEstimator(each, ways) for each in (kernel, twin)]
        for number in range(4):
            arguments = rollout(np.random.default_rng(number), 12, 7, ends=0.1, scale=1 + number)
            got, expected = (estimator.estimate(*arguments) for estimator in estimators)
            np.testing.assert_array_equal(got.advantages, expected.advantages)
            np.testing.assert_array_equal(got.returns, expected.returns)
            assert got.statistics == expected.statistics
        assert estimators[0].state_dict() == estimators[1].state_dict()
        assert estimators[0].device_cycles > 0 and estimators[1].device_cycles is None


def _train(config, card, out):
    run(config, card=card, out=out, board="zcu106", console=Console(quiet=True))
    return json.loads((out / "summary.json").read_text())


@pytest.mark.long
def test_training_is_the_same_on_both_cards(tmp_path):
    """Twenty whole rollouts of 8-bit codes: every number of every row, and the policy."""
    config = preset("ppo", "cpu", "heppo5", "Pendulum-v1")
    steps = 21 * config.env_count * config.steps_per_launch
    values = {"steps": steps, "evaluation_interval_steps": 7 * 2048, "evaluation_episodes": 2}
    config = type(config).from_dict(config.to_dict() | values)
    rows, policies = {}, {}
    for card in ("sim", "model"):
        out = tmp_path / card
        summary = _train(config, card, out)
        assert summary["launches"] >= 20
        # Clocks and seconds are the cards' own.
        rows[card] = [
            {k: v for k, v in row.items() if "seconds" not in k and k != "device_cycles"}
            for row in read_progress(out)
        ]
        with np.load(out / "best.npz", allow_pickle=False) as policy:
            policies[card] = {name: policy[name].tobytes() for name in policy.files}
    assert rows["sim"] == rows["model"] and policies["sim"] == policies["model"]


def test_cartpole_is_solved(tmp_path):
    """The short form of a claim of bench.learning."""
    config = preset("ppo", "cpu", "heppo1", "CartPole-v1")
    config = type(config).from_dict(config.to_dict() | {"seed": 0, "until_solved": True})
    summary = _train(config, "model", tmp_path)
    assert summary["solved"] and summary["mean_return"] >= 475
