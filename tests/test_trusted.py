"""Whatever reads a file refuses a module that only the file names, and has not run its code."""

import json
import os
import sys

import numpy as np
import pytest
from card.copy_kernel import CopyConfig, describe
from typer.testing import CliRunner

import rlfabric
from host import checkpoint
from host.agents.registry import ALGORITHMS, find
from host.cli.app import app
from host.cli.episodes import play
from host.environments.spec import Spec
from host.modules import check_trusted
from hw.errors import UsageError
from rlfabric import training
from rlfabric.run import Run

#: The module that files name. It says that it ran, and is an algorithm and an environment.
MODULE = "evil_of_a_stranger"
EVIL = "open('ran', 'w'); import gymnasium; gymnasium.register('Evil-v0', 'evil:Env')\n"
ENV, ALGO, TRAINER = f"{MODULE}:Evil-v0", f"{MODULE}:Evil", f"{MODULE}.py:Evil"
REFUSED = rf"^--import must name {MODULE}(\.py)?: .* has the (environment|algorithm) '{MODULE}"


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """Writes a stranger's folder, which is the current one; at the end nothing of it has run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"{MODULE}.py").write_text(EVIL)
    yield tmp_path
    assert not (tmp_path / "ran").exists() and MODULE not in sys.modules
    assert not any(MODULE in name for name in ALGORITHMS) and os.getcwd() not in sys.path


def policy(folder, algo="dqn", env="CartPole-v1"):
    """A whole policy of dqn, which says that it is of ``algo`` and ``env``."""
    spec = Spec(shape=(4,), dtype="float32", action_count=2, discrete=True)
    agent = find("dqn").config(hidden=(8,)).in_run(1000)
    made = find("dqn").policy(agent, spec, weights=np.random.default_rng(0))
    path = folder / "best.npz"
    training.save_policy(path, made, algo=algo, env=env, score=1.0)
    return path


def summary(folder, algo="dqn", env="CartPole-v1"):
    path = folder / "summary.json"
    path.write_text(json.dumps({"config": {"algo": algo, "env": env}, "kernel": None}))
    return path


def config(folder, **fields):
    path = folder / "config.json"
    path.write_text(json.dumps(fields))
    return path


def command(*words):
    """Runs a command; its error is raised."""
    found = CliRunner().invoke(app, [str(word) for word in words])
    raise found.exception


def loaded(path, **options):
    return rlfabric.load_policy(path, **options)


CALLS = {
    "load_policy, algorithm": lambda f: loaded(policy(f, ALGO)),
    "load_policy, trainer": lambda f: loaded(policy(f, TRAINER)),
    "load_policy, folder": lambda f: loaded(policy(f, ALGO).parent),
    "load_policy, another import": lambda f: loaded(policy(f, ALGO), imports=["evil"]),
    "load_policy, a part of the import": lambda f: loaded(policy(f, ALGO), imports=MODULE + "x"),
    "Run.policy": lambda f: Run(policy(f, ALGO).parent, {}).policy,
    "evaluate": lambda f: rlfabric.evaluate(loaded(policy(f, env=ENV))),
    "evaluate, another import": lambda f: rlfabric.evaluate(
        loaded(policy(f, env=ENV)), imports=["evil"]
    ),
    "evaluate, a part of the import": lambda f: rlfabric.evaluate(
        loaded(policy(f, env=ENV)), imports=f"my_{MODULE}"
    ),
    "training.evaluate": lambda f: training.evaluate(loaded(policy(f, env=ENV))),
    "play": lambda f: play(policy(f, env=ENV), episodes=1),
    "play, film": lambda f: play(policy(f, env=ENV), episodes=1, render="gif"),
    "evaluate RUN": lambda f: command("evaluate", policy(f, env=ENV).parent),
    "evaluate FILE": lambda f: command("evaluate", policy(f, ALGO)),
    "train --config": lambda f: command("train", "dqn", "--config", config(f, env=ENV)),
    "train --config plan.json": lambda f: command("train", "dqn", "--config", summary(f, env=ENV)),
    "compose --config": lambda f: command("compose", "dqn", "--config", config(f, env=ENV)),
    "verilog --for-run, environment": lambda f: command(
        "verilog", "dqn", "--for-run", summary(f, env=ENV)
    ),
    "verilog --for-run, algorithm": lambda f: command(
        "verilog", "dqn", "--for-run", summary(f, ALGO).parent
    ),
    "verilog --for-run, trainer": lambda f: command(
        "verilog", "dqn", "--for-run", summary(f, TRAINER)
    ),
    "bitstream --for-run": lambda f: command(
        "bitstream", "dqn", "--board", "u50", "--for-run", summary(f, env=ENV)
    ),
    "report --for-run": lambda f: command("report", "dqn", "--for-run", summary(f, ALGO)),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_module_that_only_a_file_names(stranger, call):
    with pytest.raises(UsageError, match=REFUSED):
        CALLS[call](stranger)


def load(folder, **fields):
    values = json.loads(describe(CopyConfig()).to_json()) | fields
    (folder / "kernel.json").write_text(json.dumps(values))
    with rlfabric.open_card("model") as card:
        card.load(folder / "kernel.json")


def saved(folder, env):
    """A checkpoint of a run of ``env``."""
    folder = folder / "run"
    folder.mkdir()
    checkpoint.save(folder / "checkpoint.npz", "training", {"algo": ALGO, "env": env}, {})
    return folder


#: What a file names where no module may stand -> what is said.
OTHERS = {
    "train --config, ALGO": (
        lambda f: command("train", "dqn", "--config", config(f, algo=ALGO)),
        "^algo must be dqn, as ALGO is, not ",
    ),
    "train --config, no text": (
        lambda f: command("train", "dqn", "--config", config(f, env=[ENV])),
        "^env must be the name of an environment",
    ),
    "resume": (
        lambda f: rlfabric.train("dqn", "CartPole-v1", out=saved(f, ENV), resume=True),
        f"as in the checkpoint|'{ENV}' as in",
    ),
    "kernel.json": (lambda f: load(f, name=ALGO), "^name of a kernel must be a word"),
    "kernel.json, unknown": (lambda f: load(f, name=MODULE), "kernel|twin|must be"),
    "devices.csv": (
        lambda f: rlfabric.compose("dqn", "CartPole-v1", devices=devices(f), links=devices(f)),
        r"^board must be one of .* \(devices.csv line 2\)",
    ),
}


def devices(folder):
    path = folder / "devices.csv"
    head = "name,kind,board,cores,clock_mhz,launch_us,watts,source"
    path.write_text(f"{head}\ncpu0,card,{ALGO},,,,,x\n")
    return path


@pytest.mark.parametrize("call", OTHERS)
def test_a_name_where_no_module_may_stand(stranger, call):
    asked, said = OTHERS[call]
    with pytest.raises(UsageError, match=said):
        asked(stranger)


def test_a_checkpoint_of_a_program_imports_nothing(stranger):
    folder = saved(stranger, ENV)
    state = {"env": ENV, "algo": TRAINER}
    training.save_checkpoint(folder / "own.npz", {"env": ENV}, state)
    assert training.load_checkpoint(folder / "own.npz") == ({"env": ENV}, state)


@pytest.mark.parametrize("modules", [(), ["a"], "x", "my_package.x", ["my_package"], "my_packag"])
def test_only_the_module_itself_is_trusted(modules):
    check_trusted("CartPole-v1", modules, "file")
    with pytest.raises(UsageError, match="--import must name my_package.sub: file has the env"):
        check_trusted("my_package.sub:Env-v0", modules, "file")
    check_trusted("my_package.sub:Env-v0", ("my_package.sub",), "file")
    check_trusted("my_package.sub:Env-v0", "my_package.sub", "file")
