"""An algorithm of one's own, named MODULE:NAME: that of docs/adding_an_algorithm.md, in a module of
the current folder. Every command finds it, and no file has it imported unasked."""

import csv
import sys
from pathlib import Path

import pytest
from extensions import shown, visible

from host.agents.policy_file import load_policy
from host.agents.registry import find_named
from host.algorithms.dqn import DQN
from host.cli.run_kernel import of_run
from host.runs.preset import preset

#: What a run must share with its checkpoint.
TRAIN = ("train", "mine:SARSA", "--out", "run", "--set", "randomness=0.2", "--seed", 1)


@pytest.fixture(autouse=True)
def mine(tmp_path, monkeypatch):
    """``mine.py`` lies in the current folder; ``with mine()`` begins as a process does."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("host.runs.start_run.BUILD_DIRECTORY", tmp_path / "build")
    Path("mine.py").write_text(shown("adding_an_algorithm.md")["my_agents/sarsa.py"])
    with visible(tmp_path, on_path=False):
        yield lambda: visible(tmp_path, on_path=False)


def test_every_command_finds_it(run, mine):
    with mine():
        code, said, err = run(*TRAIN, "--steps", 400, "--set", "log_interval_steps=100")
        assert code == 0 and "mean return" in said, err
        assert "mine" in sys.modules and str(Path.cwd()) not in sys.path
        rows = list(csv.DictReader(Path("run", "progress.csv").open()))
        learned = [row for row in rows if row["loss"]]
        assert learned and all(row["value"] and row["exploration"] == "0.2" for row in learned)
        policy, info = load_policy("run/best.npz")
        assert type(policy).__name__ == "SarsaPolicy" and info["algo"] == "mine:SARSA"
    with mine():
        again = "--resume", "--steps", 500, "--set", "log_interval_steps=100"
        assert run(*TRAIN, *again)[0] == 0
    with mine():
        code, said, _ = run("show", "mine:SARSA")
        assert code == 0 and "randomness" in said
    unasked(run, mine)


def unasked(run, mine):
    """What names the module in a file is not followed unless the user names it too."""
    with mine():
        code, _, err = run("evaluate", "run", "--episodes", 2)
        assert code == 2 and "mine" not in sys.modules
        assert err == (
            "rlfabric: --import must name mine: run/best.npz has the algorithm "
            "'mine:SARSA', which would run this module's code\n"
        )
        with pytest.raises(ValueError, match="--import must name mine: run/summary.json has"):
            of_run(Path("run"), "replay", "u200", {})
        assert run("train", "dqn", "--config", "run/summary.json")[0] == 2
        assert "mine" not in sys.modules
        assert of_run(Path("run"), "replay", "u200", {}, ("mine",))[0]["library"]
    with mine():
        assert run("evaluate", "run", "--episodes", 2, "--import", "mine")[0] == 0
    with mine():
        words = "--config", "run/summary.json", "--steps", 100, "--out", "other"
        assert run("train", "mine:SARSA", *words)[0] == 0


@pytest.mark.parametrize(
    "name, line",
    [
        ("nothing:SARSA", "ALGO must name a module that can be imported, not 'nothing:SARSA' ("),
        (".mine:SARSA", "ALGO must name a module that can be imported, not '.mine:SARSA' ('.mine'"),
        ("./mine.py:SARSA", "ALGO must name a class of ./mine.py, not './mine.py:SARSA'"),
        ("mine:SARSAS", "ALGO must name an Algorithm of mine, not 'mine:SARSAS'"),
        ("mine:SarsaConfig", "ALGO must name an Algorithm of mine, not 'mine:SarsaConfig'"),
        ("mine:", "ALGO must name an Algorithm of mine, not 'mine:'"),
        (":SARSA", "ALGO must be one of dqn, ddpg, td3, sac, ppo, a3c, not ':SARSA'"),
        ("mine", "ALGO must be one of dqn, ddpg, td3, sac, ppo, a3c, not 'mine'"),
    ],
)
def test_a_name_of_nothing_is_a_line(run, name, line):
    for command in ("train", "show"):
        if ":" in name or command == "train":
            code, _, err = run(command, name)
            assert code == 2 and err.startswith(f"rlfabric: {line}") and err.count("\n") == 1, err


def test_the_card_does_not_train_it(run):
    code, _, err = run("train", "mine:SARSA", "--learner", "card", "--out", "run")
    assert code == 2 and err == "rlfabric: learner must be cpu for mine:SARSA, not 'card'\n"


def test_the_kernel_has_the_algorithms_own_name(mine):
    """A variant of ours on the kernel of ours."""
    Path("mine.py").write_text("from rlfabric.host.algorithms.dqn import DQN as VARIANT")
    assert find_named("mine:VARIANT") is DQN
    assert preset("mine:VARIANT", "card").kernel == "dqn"


def test_its_actions_are_checked(run):
    code, _, err = run("train", "mine:SARSA", "--env", "Pendulum-v1", "--out", "run")
    assert code == 2 and "env must have a Discrete action space for sarsa" in err
