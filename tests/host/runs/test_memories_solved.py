"""CartPole-v1 is solved with the replay memory on the CPU, wherever the gradient steps are done."""

from dataclasses import replace

import pytest
from rich.console import Console

from host.runs.preset import preset
from host.runs.start_run import run


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("memory", ["tree", "ring"])
@pytest.mark.parametrize("learner", ["card", "cpu"])
def test_cartpole_is_solved(learner, memory, seed, tmp_path, monkeypatch):
    """By three of three seeds in each of the four."""
    monkeypatch.setattr("host.runs.start_run.BUILD_DIRECTORY", tmp_path / "build")
    config = replace(preset("dqn", learner), memory=memory, until_solved=True, seed=seed)
    found = run(config, card="model", out=tmp_path / "run", console=Console(quiet=True)).summary
    print({name: found[name] for name in ("card", "steps", "updates", "mean_return")})
    assert found["solved"] and found["mean_return"] >= 475
    assert (found["kernel"] is None) == (learner == "cpu")
