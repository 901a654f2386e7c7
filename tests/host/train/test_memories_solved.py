"""CartPole-v1 is solved with the replay memory on the CPU, wherever the gradient steps are done."""

from dataclasses import replace

import pytest
from rich.console import Console

from host.train.preset import preset
from host.train.run import run


@pytest.mark.long
@pytest.mark.parametrize("memory", ["tree", "ring"])
@pytest.mark.parametrize("learner", ["cpu", "card"])
def test_three_of_three_seeds_solve_cartpole(learner, memory, tmp_path, monkeypatch):
    monkeypatch.setattr("host.train.run.BUILD_DIRECTORY", tmp_path / "build")
    config = replace(preset("dqn", learner), memory=memory, until_solved=True)
    for seed in range(3):
        out, quiet = tmp_path / str(seed), Console(quiet=True)
        found = run(replace(config, seed=seed), card="model", out=out, console=quiet).summary
        print({name: found[name] for name in ("card", "steps", "updates", "mean_return")})
        assert found["solved"] and found["mean_return"] >= 475, seed
        assert (found["kernel"] is None) == (learner == "cpu")
