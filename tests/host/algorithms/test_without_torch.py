"""Without torch, which is an extra: ppo says how to get it, and all else goes on."""

import re
import subprocess
import sys

import pytest
from host.train.policy import agent_type
from host.train.train_config import preset

from host import extras
from host.train import start
from sim.tools import MissingTool


@pytest.fixture
def without_torch(monkeypatch):
    for name in ("ppo", "ppo_network", "torch_extra"):
        monkeypatch.delitem(sys.modules, f"host.agents.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.mark.parametrize(
    "checkout, command",
    [(True, "-c constraints.txt -e '.[torch]'"), (False, "'rlfabric[torch]'")],
)
def test_ppo_says_how_to_install_it(without_torch, monkeypatch, checkout, command):
    """In a checkout, and where the package was installed."""
    monkeypatch.setattr(extras, "_CHECKOUT", checkout)
    words = re.escape(f"torch must be installed for ppo (pip install {command}), not missing: ")
    with pytest.raises(MissingTool, match=f"^{words}"):
        agent_type("ppo")
    assert {agent_type(algo).__name__ for algo in ("dqn", "ddpg")} == {"DQN", "DDPG"}


def test_it_is_said_before_anything_is_built(without_torch, tmp_path, monkeypatch):
    monkeypatch.setattr(start, "BUILD_DIRECTORY", tmp_path / "build")
    with pytest.raises(MissingTool, match="^torch must be installed for ppo"):
        start.run(preset("ppo", "cpu"), card="model", out=tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_nothing_else_needs_it():
    code = "import sys; sys.modules['torch'] = None; "
    code += "import host.cli, host.commands.listing, host.train.run"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0
