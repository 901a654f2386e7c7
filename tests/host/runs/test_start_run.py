"""From the command line's words to a run: which kernel, on which card, with which config."""

import errno
import json
import platform
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest

import boards
from host.runs import start_run as module
from host.runs.preset import preset
from system.cache import DIGESTS
from tests.host.short_runs import *


def test_a_run_on_the_model_card(options, tmp_path, capsys):
    assert start(**options) == 0
    lines = capsys.readouterr().out.splitlines()
    assert Path(lines[-1]) == tmp_path / "run" / "returns.png" and Path(lines[-1]).exists()
    assert lines[-2].startswith("mean return ")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["card"], summary["seed"], summary["steps"]) == ("model", 1, 200)
    assert summary["config"]["agent"]["batch_size"] == 16
    (built,) = kernels(tmp_path / "build/train/u50/replay")
    assert {file.name for file in built.iterdir()} == {"kernel.json", DIGESTS}  # no Verilog
    kernel = json.loads((built / "kernel.json").read_text())
    assert kernel["config"]["replay"]["capacity"] == 256
    hash_text = f"{kernel['config_hash']:016x}"
    assert built.name.startswith(f"{hash_text}-")
    assert summary["kernel"] == {
        "name": "replay", "config_hash": f"0x{hash_text}", "config": kernel["config"]
    }  # fmt: skip
    assert summary["versions"]["rlfabric"] == version("rlfabric")
    assert summary["versions"]["numpy"] == np.__version__
    assert summary["versions"]["python"] == platform.python_version()


@pytest.mark.parametrize("env, words", [("CartPole-v1", "not solved"), ("Here-v0", "Here-v0 has")])
def test_steps_are_rounded_up_to_whole_launches(options, tmp_path, capsys, monkeypatch, env, words):
    """user D10: the help said at most, and progress "step 2048 of 1500". An environment without a
    threshold is not "not solved" (user, polish)."""
    spec = replace(gymnasium.spec("CartPole-v1"), id="Here-v0", reward_threshold=None)
    monkeypatch.setitem(gymnasium.registry, "Here-v0", spec)
    settings = options["settings"] | {"env_count": "4", "steps_per_launch": "3"}
    assert start(**options | {"steps": 100, "env": env, "settings": settings}) == 0
    out = capsys.readouterr().out
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["steps"] == 108
    assert "step 108 of at least 100 (100 %)" in out and f", {words}" in out


@pytest.mark.parametrize(
    "mean, words",
    [(0.0, "mean return 0.0, not solved, in 3 s\n"), (None, ""), (9.0, "mean return 9.0, solved,")],
)
def test_the_outcome_in_words(monkeypatch, capsys, mean, words):
    asked, summary = [], {"mean_return": mean, "solved": bool(mean), "seconds": 2.6}
    summary["reward_threshold"] = 1.0

    def run(config, **options):
        asked.append(options)
        return SimpleNamespace(summary=summary, plot=Path("nowhere"), exit_code=7)

    monkeypatch.setattr(module, "run", run)
    config = preset("a3c", "cpu", env="CartPole-v1")
    assert module.start(config, out=None, card="sim") == 7
    assert asked == [dict(out=None, card="sim")]
    out = capsys.readouterr().out
    assert out.startswith(words) and bool(out) == bool(words)


@pytest.mark.parametrize("overwrite", [False, True])
def test_the_folder_of_a_run_without_one(monkeypatch, overwrite):
    """That of a run that needs no card does not name the one that was asked for; a preset that is
    nobody's choice is in its name."""
    asked = []

    @contextmanager
    def run_folder(out, *, numbered, **how):
        asked.append((out, numbered))
        yield out

    monkeypatch.setattr(module, "run_folder", run_folder)
    monkeypatch.setattr(module, "train", lambda *parts, **how: None)
    module.run(preset("a3c", "cpu", env="CartPole-v1"), card="sim", overwrite=overwrite)
    assert asked == [(Path("runs/a3c-CartPole-v1-cpu-none-0"), not overwrite)]
    monkeypatch.setattr(module, "spec_of", lambda config: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        module.run(preset("ppo", "cpu", env="CartPole-v1"), card="model", overwrite=overwrite)
    assert asked[1] == (Path("runs/ppo-CartPole-v1-heppo1-cpu-model-0"), not overwrite)


def test_a_run_without_a_card(monkeypatch, tmp_path):
    """Whatever card was asked for; a field of a kernel has nothing that it could be of."""
    asked = []
    monkeypatch.setattr(module, "train", lambda config, factory, **how: asked.append(how))
    config, out = preset("a3c", "cpu", env="CartPole-v1"), tmp_path / "run"
    out.mkdir()
    (out / "checkpoint.npz").touch()
    module.run(config, out=out, card="sim", resume=True)
    told = dict(out=out, card="none", kernel=None, resume=True, console=None, callback=None)
    assert asked == [told]
    with pytest.raises(ValueError, match="^kernel.lanes must not be set in a run without a card$"):
        module.run(config, out=tmp_path / "other", card="sim", kernel={"lanes": "2"})
    with pytest.raises(ValueError, match="^--trace must be with card sim, not none$"):
        module.run(config, out=tmp_path / "other", card="sim", trace=True)


def test_a_plot_that_is_not_there_is_not_named(options, capsys, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("host.runs.records.plot_returns", full)
    assert start(**options) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[-1].startswith("mean return ")
    assert "Not written in the end: returns.png. The checkpoint is of step 200." in out


@pytest.mark.parametrize("algo, env", [("dqn", "CartPole-v1"), ("ddpg", "Pendulum-v1")])
def test_a_run_that_learns_on_the_model_card(options, tmp_path, algo, env):
    change = dict(algo=algo, env=None, learner="card", board="u200")
    settings = {**CARD, "kernel.lanes": "2", "kernel.multipliers": "4"}
    assert start(**{**options, **change, "settings": settings}) == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["env"], summary["learner"], summary["steps"]) == (env, "card", 200)
    assert summary["updates"] == 2 * (summary["launches"] - 64 // summary["config"]["env_count"])
    (built,) = kernels(tmp_path / f"build/train/u200/{algo}")
    kernel = json.loads((built / "kernel.json").read_text())["config"]
    assert summary["kernel"]["config"] == kernel
    learner = kernel["learner"]
    assert kernel["replay"]["capacity"] == 256 and learner["hidden"] == [8, 6]
    assert (learner["batch"], learner["lanes"], learner["multipliers"]) == (16, 2, 4)
    assert (learner["observation"], learner["action"]) == ((4, 2) if algo == "dqn" else (3, 1))


def test_the_estimator_of_a_run(options, seen, tmp_path):
    """A kernel with a row for each environment, and a slot for each step and what follows it."""
    changes = PPO | {"settings": PPO_SETTINGS | {"kernel.lookahead": "1"}, "preset_name": "heppo5"}
    start(**{**options, **changes})
    assert seen.config.agent.rewards == "dynamic" and seen.config.agent.gamma == 0.9
    (built,) = kernels(tmp_path / "build/train/zcu106/gae")
    assert seen.description == built / "kernel.json"
    gae = json.loads((built / "kernel.json").read_text())["config"]["gae"]
    assert (gae["rows"], gae["depth"], gae["lookahead"]) == (3, 40, 1)
    assert (gae["code_width"], gae["result_width"]) == (8, 32)
    seen.factory()
    (kernel, how), _ = seen.estimator
    assert (how.rewards, how.values) == ("dynamic", "restored") and kernel.description.name == "gae"
    start(**{**options, **PPO, "settings": PPO_SETTINGS | {"env_count": "300"}})
    gae = json.loads(seen.description.read_text())["config"]["gae"]
    assert gae["rows"] == 64


@pytest.mark.parametrize("name, value", [("code_width", 32), ("result_width", 8)])
def test_a_built_estimator_must_have_the_widths(options, seen, tmp_path, name, value):
    widths = {"code_width": 16, "result_width": 16} | {name: value}
    build_kernel("gae", "zcu106", tmp_path / "build", **{f"gae.{n}": v for n, v in widths.items()})
    settings = PPO_SETTINGS | {"code_width": "16", "result_width": "16"}
    with pytest.raises(ValueError, match=f"^{name} must be {value} as in the kernel, not 16$"):
        start(**{**options, **PPO, "card": "xrt", "settings": settings})
    assert seen.description.parent.name == "gae"


def test_simulated_card_has_the_banks_of_the_board(options, seen, tmp_path):
    start(**{**options, "card": "sim", "trace": True, "steps": None}, trace_launches=3)
    assert seen.card == "sim" and not seen.resume
    banks = [(bank.name, bank.size) for bank in seen.options["banks"]]
    # One for each of the kernel's masters.
    assert banks == [(bank.name, bank.size) for bank in boards.get("u50").banks[:2]]
    assert seen.options["trace"] == tmp_path / "run" / "trace.vcd"
    assert seen.options["trace_launches"] == 3  # Y: a waveform without end fills the disk
    assert seen.config.steps == preset("dqn", "cpu").steps
    assert (seen.description.parent / "replay.v").exists()


class Wide(gymnasium.Env):
    """Experiences of 1023 beats."""

    observation_space = gymnasium.spaces.Box(-1, 1, (8180,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)


gymnasium.register("rlfabric-tests/Wide-v0", entry_point=Wide)


@pytest.mark.parametrize(
    "board, capacity, names",
    [
        ("u50", 4100, ["HBM[0]", "HBM[1]"]),
        ("u50", 4101, ["HBM[0]", "HBM[1:2]"]),
        ("u50", 1 << 17, ["HBM[0]", "HBM[1:31]"]),
        ("u200", 1 << 17, ["DDR[1]", "DDR[0]"]),
    ],
)
def test_simulated_banks_join_for_long_experiences(options, seen, board, capacity, names):
    settings = SMALL | {"capacity": str(capacity)}
    start(**{**options, "env": "rlfabric-tests/Wide-v0", "board": board, "settings": settings})
    assert [bank.name for bank in seen.options["banks"]] == names


def test_real_card_has_the_kernel_that_was_built(options, seen, built):
    seen.exit_code = 130
    assert start(**{**options, "card": "xrt:1"}) == 130
    assert seen.card == "xrt:1" and seen.options == {}
    assert seen.description == built / "replay/kernel.json" and seen.kernel.name == "replay"
    assert not (built.parent / "train").exists()  # nothing generated over it
    start(**{**options, "card": "xrt", "learner": "card", "settings": {}})
    assert seen.description == built / "dqn/kernel.json"


def test_y_launches_of_a_trace(options, seen):
    for wrong in (0, -1, 1.5):
        with pytest.raises(ValueError, match="^trace_launches must be an integer in 1"):
            start(**{**options, "card": "sim", "trace": True}, trace_launches=wrong)


@pytest.mark.parametrize("card", ["model", "xrt"])
def test_trace_needs_the_simulated_card(options, seen, card):
    with pytest.raises(ValueError, match=f"--trace must be with card sim, not {card}"):
        start(**{**options, "card": card, "trace": True})


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(board="u9"), "board must be one of"),
        (dict(card="gpu"), "card must be model, sim, xrt"),
        (dict(settings={"speed": "1"}), "speed must be the name of a field, not unknown"),
        (dict(settings={"gamma": "2"}), "gamma must be in"),
        (dict(learner="gpu"), "learner must be one of cpu, card, not 'gpu'"),
        (
            dict(preset_name="heppo1"),
            "preset must be none for dqn, which has no presets, not 'heppo1' .ddpg has float32",
        ),
        (dict(algo="ppo", learner="card"), "learner must be cpu for ppo"),
        (
            PPO | dict(settings={"capacity": "9"}),
            "capacity must be the name of a field, not unknown",
        ),
        (
            PPO | dict(settings={"kernel.rows": "0"}),
            "kernel.rows must be an integer in 1..256, not 0",
        ),
        (
            dict(settings={"kernel.lanes": "2"}),
            "kernel.lanes must be the name of a field, not unknown",
        ),
        (
            dict(settings={"kernel.fanot": "2"}),
            r"kernel.fanot must be .*, not unknown \(did you mean kernel.fanout\?\)",
        ),
        # user D9: learner.batch and lanes, of which nobody had set the one
        (
            dict(learner="card", settings={"batch_size": "33"}),
            r"batch_size must be a multiple of kernel.lanes \(2; PI \* DP\), not 33",
        ),
        (dict(settings={"kernel.fanout": "x"}), "kernel.fanout must be of type int, not 'x'"),
        (
            dict(learner="card", settings=CARD | {"kernel.learner.arithmetic.kind": "x"}),
            "kernel.learner.arithmetic.kind must be one of dual, fixed, float32, not 'x'",
        ),
        (
            dict(learner="card", settings=CARD | {"kernel.learner.arithmetic.kind": "dual"}),
            "kernel.learner.arithmetic.kind must be one of float32, fixed, not 'dual'",
        ),
        (
            dict(card="xrt", settings={"kernel.fanout": "4"}),
            "kernel.fanout must be set when the kernel is built, not with card xrt",
        ),
    ],
)
def test_refuses(options, change, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        start(**{**options, **change})


def test_capacity_beyond_the_board(options):
    settings = {"capacity": "5000000"}
    with pytest.raises(boards.DoesNotFit, match="uram must be at most 486 on Alveo U50"):
        start(**{**options, "settings": settings})


def test_an_interrupt_before_the_run_is_a_word(monkeypatch, capsys):
    """While a kernel is built, or actors are started: what is left is said."""
    error = KeyboardInterrupt()
    error.__notes__ = ["the policy is there"]

    def run(config, **options):
        raise error

    monkeypatch.setattr(module, "run", run)
    assert module.start(None) == 130
    assert capsys.readouterr().err == "rlfabric: interrupted; the policy is there\n"
