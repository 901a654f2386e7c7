"""ppo with the estimator on card ``model``: every preset learns, and goes on after an end. Long:
torch is an extra that `make test` does not install."""

import json

import pytest

from host import start as module
from host.agents.ppo_config import HEPPO
from host.log import read_progress
from host.start import start
from tests.host.ppo_parts import require_torch

pytestmark = pytest.mark.long

SMALL = {
    "env_count": "2",
    "steps_per_launch": "64",
    "batch_size": "64",
    "hidden": "8",
    "evaluation_episodes": "1",
}


@pytest.fixture
def options(tmp_path, monkeypatch):
    require_torch()
    monkeypatch.setattr(module, "BUILD_DIRECTORY", tmp_path / "build")
    return dict(
        algo="ppo",
        learner="cpu",
        env="Pendulum-v1",
        card="model",
        board="zcu106",
        steps=512,
        seed=1,
        out=tmp_path / "run",
        resume=False,
        until_solved=False,
        trace=False,
        settings=SMALL,
    )


@pytest.mark.parametrize("name", HEPPO)
def test_every_preset_trains_and_resumes(options, tmp_path, name):
    """Truncated episodes, of 200 steps, are among them."""
    assert start(**options, preset_name=name) == 0
    more = {**options, "steps": 1024, "resume": True}
    assert start(**more, preset_name=name) == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["algo"], summary["launches"], summary["episodes"] > 0) == ("ppo", 8, True)
    rows = [row for row in read_progress(tmp_path / "run") if row["loss"] is not None]
    assert [row["launches"] for row in rows] == [*range(1, 9)]
    ways = HEPPO[name]
    means = [row["reward_mean"] for row in rows]
    standardized = ways["rewards"] != "raw"
    assert all((mean is not None) == standardized for mean in means)
    if ways["rewards"] == "dynamic":
        # Of all rewards so far, across the resumption: it moves less and less.
        steps = [abs(b - a) for a, b in zip(means, means[1:], strict=False)]
        assert sum(steps[4:]) < sum(steps[:3])
    values = [row["value_mean"] is not None for row in rows]
    assert all(seen == (ways["values"] == "restored") for seen in values)


@pytest.mark.parametrize("env", ["CartPole-v1", "Acrobot-v1"])
@pytest.mark.parametrize("name", HEPPO)
def test_rewards_that_are_all_equal(options, name, env):
    """README's own command among them."""
    assert start(**{**options, "env": env}, preset_name=name) == 0
