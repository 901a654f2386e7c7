"""ppo with the estimator on card ``model``: every preset learns, and goes on after an end."""

import json

import pytest

from host.runs.run_log import read_progress
from host.summaries import HEPPO
from tests.host.short_runs import *

SETTINGS = {
    "env_count": "2",
    "steps_per_launch": "64",
    "batch_size": "64",
    "log_interval_steps": "128",  # of every launch
    "hidden": "8",
    "evaluation_episodes": "1",
}


@pytest.fixture
def ppo(options):
    return {**options, **PPO, "steps": 512, "settings": SETTINGS}


@pytest.mark.parametrize(
    "name",
    [n if n in ("heppo1", "heppo5") else pytest.param(n, marks=pytest.mark.long) for n in HEPPO],
)
def test_every_preset_trains_and_resumes(ppo, tmp_path, name):
    """Truncated episodes, of 200 steps, are among them."""
    assert start(**ppo, preset_name=name) == 0
    more = {**ppo, "steps": 1024, "resume": True}
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


@pytest.mark.parametrize("env", ["CartPole-v1", pytest.param("Acrobot-v1", marks=pytest.mark.long)])
@pytest.mark.parametrize("name", HEPPO)
def test_rewards_that_are_all_equal(ppo, name, env):
    """README's own command among them."""
    assert start(**{**ppo, "env": env}, preset_name=name) == 0
