"""TD3 and SAC with their replay memory on card ``model`` solve Pendulum-v1: the short form of two
claims of bench.learning."""

from dataclasses import replace

import pytest
from rich.console import Console

from host.runs.preset import preset
from host.runs.start_run import run


@pytest.mark.long
@pytest.mark.parametrize("algo", ["td3", "sac"])
def test_pendulum_is_solved(algo, tmp_path, monkeypatch):
    monkeypatch.setattr("host.runs.start_run.BUILD_DIRECTORY", tmp_path / "build")
    config = replace(preset(algo, "cpu"), steps=12_000, until_solved=True)
    summary = run(config, card="model", out=tmp_path / "run", console=Console(quiet=True)).summary
    assert summary["solved"] and summary["mean_return"] >= -200
    assert summary["algo"] == algo and summary["kernel"]["name"] == "replay"
