"""Without torch, which is an extra: training on the CPU says how to get it; all else goes on."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from host.agents.policy_file import save_policy
from host.agents.registry import ALGORITHMS
from host.algorithms import autodiff
from hw import extras
from system.tools import BUILD_DIRECTORY
from tests.children import children  # noqa: F401 -- a fixture
from tests.host import agent_parts

_ROOT = Path(__file__).parents[3]

#: makes torch absent, and keeps which of our files asked for it: some libraries try
ABSENT = f"""
import sys

class Absent:
    asked = []

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            frame = sys._getframe(1)
            while "importlib" in frame.f_code.co_filename:
                frame = frame.f_back
            if frame.f_code.co_filename.startswith({str(_ROOT / "host")!r}):
                self.asked.append(frame.f_code.co_filename)
            raise ModuleNotFoundError("No module named 'torch'")

sys.meta_path.insert(0, Absent())
"""


@pytest.fixture
def without(children, tmp_path):  # noqa: F811
    """``without(code, *arguments)``: exit code, standard output and error of Python without torch,
    in ``tmp_path``."""

    def run(code, *arguments):
        own = {"PYTHONPATH": str(_ROOT), "RLFABRIC_BUILD": str(BUILD_DIRECTORY)}
        child = children("-c", ABSENT + code, *map(str, arguments), **os.environ | own)
        out, err = child.communicate(timeout=300)
        return child.returncode, out, err

    return run


@pytest.mark.parametrize("algo", ALGORITHMS)
@pytest.mark.parametrize(
    "checkout, command", [(True, "-c constraints.txt -e '.[torch]'"), (False, "'rlfabric[torch]'")]
)
def test_training_on_the_cpu_says_how_to_install_it(
    run, monkeypatch, tmp_path, algo, checkout, command
):
    """In a line, with its own exit code, before anything is built."""
    monkeypatch.setattr(autodiff, "torch", autodiff._Torch())  # which has not been used yet
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(extras, "_CHECKOUT", checkout)
    monkeypatch.setattr("host.runs.start_run.BUILD_DIRECTORY", tmp_path / "build")
    words = re.escape(
        f"rlfabric: torch must be installed to train on the CPU (pip install {command})"
    )
    code, out, err = run("train", algo, "--learner", "cpu", "--out", tmp_path / "run")
    assert (code, out) == (3, "")
    assert re.fullmatch(rf"{words}, not missing: [^\n]+\n", err.replace("\n  ", " "))
    assert not list(tmp_path.iterdir())


def test_all_else_goes_on_without_it(without, tmp_path):
    """In one process: the best of each algorithm, of another process, is played; commands need none
    before that; and the card trains. Nothing of ours asks for it."""
    obs, wanted = np.random.default_rng(1).normal(size=(20, 3)).astype(np.float32), []
    for algo in ALGORITHMS:
        policy = agent_parts.make(algo).policy
        save_policy(tmp_path / f"{algo}.npz", policy, algo=algo, env="Some-v0", score=None)
        wanted.append(policy.act(obs, greedy=True).ravel())
    np.save(tmp_path / "obs.npy", obs)
    settings = dict(hidden="8", batch_size=16, capacity=256, learning_starts=64, n_step=1)
    settings |= dict(evaluation_episodes=1, evaluation_interval_steps=8000)
    words = [f"--set={name}={value}" for name, value in settings.items()]
    run = ["train", "dqn", "--learner", "card", "--card", "model", "--steps", "200", "--out", "run"]
    code = f"""
import numpy as np
import host.cli.app, host.cli.lists, host.cli.episodes
import host.runs.assembly, host.runs.start_run
from host.agents.policy_file import load_policy

actions = []
for name in sys.argv[1:]:
    policy, _ = load_policy(f"{{name}}.npz")
    actions.append(policy.act(np.load("obs.npy"), greedy=True).ravel())
    policy.act(np.load("obs.npy"))
    policy.load_state_dict(policy.state_dict())
np.save("actions.npy", np.concatenate(actions))
assert not Absent.asked, Absent.asked
host.cli.app.app({[*run, *words]!r}, standalone_mode=False)
assert not Absent.asked, Absent.asked
"""
    status, _, err = without(code, *ALGORITHMS)
    assert status == 0, err
    np.testing.assert_allclose(np.load(tmp_path / "actions.npy"), np.concatenate(wanted), atol=1e-6)
    assert (tmp_path / "run" / "best.npz").exists()
