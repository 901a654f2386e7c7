"""Programs of three plans solve CartPole-v1: the replay memory apart from the learner, both on the
card, and a card that trains on batches of a memory on the CPU."""

import json
import runpy

import pytest

import rlfabric
from host.kernels import describe
from host.runs.run_config import spec_of
from tests.host.compose.test_program import planned, text_of

SETTINGS = dict(until_solved="true", steps="100000")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rm, learner", [("card", "cpu"), ("card", "card"), ("cpu", "card")])
def test_cartpole(rm, learner, seed, tmp_path, monkeypatch):
    plan, document = planned("dqn", rm, learner, SETTINGS)
    values = plan.config.kernel_values(spec_of(plan.config))
    describe(plan.design, "u200", tmp_path / "kernels", **values)
    (tmp_path / "plan.json").write_text(json.dumps(document))
    (tmp_path / "train.py").write_text(text_of(plan, document, tmp_path))
    train = runpy.run_path(str(tmp_path / "train.py"))["train"]
    train("model", plan.config.steps, seed, tmp_path / "best.npz")
    policy = rlfabric.load_policy(tmp_path / "best.npz")
    assert rlfabric.evaluate(policy, episodes=50, seed=12345).mean >= 475
