"""`rlfabric train`: what its words become, and what it ends in."""

import sys
import warnings
from importlib.metadata import version
from types import SimpleNamespace

import gymnasium
import pytest

from host.actors.placement import ActorOptions
from host.cards import CapacityError, CardError
from host.checkpoint import CheckpointError
from host.terminal.exit_codes import TRACEBACK
from hw.errors import MissingTool
from tests.host.code_of import ours


@pytest.mark.parametrize(
    "error, code, message",
    [
        (CapacityError("size must be at most 4096"), 4, "rlfabric: size must be at most 4096"),
        (CheckpointError("checkpoint must be of version 1"), 2, "rlfabric: checkpoint must be"),
        (MissingTool("g++ must be installed"), 3, "rlfabric: g++ must be installed"),
        (CardError("AXI channel r stands still"), 1, "rlfabric: AXI channel r stands still"),
        (OSError(28, "No space left on device"), 1, "No space left"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_exit_codes_of_what_happens_inside(run, monkeypatch, error, code, message):
    monkeypatch.setattr("host.runs.start_run.start", ours("raise error", error=error))
    got, _, err = run("train", "dqn")
    assert got == code and message in err and "Traceback" not in err


@pytest.mark.parametrize("words", [["-v", "train"], ["train", "-v"], ["--verbose", "train"]])
def test_traceback_on_request(run, words):
    code, _, err = run(*words, "a2c")
    assert code == 2 and err.startswith("Traceback") and "UsageError: ALGO must be" in err


def test_traceback_by_the_environment(run, monkeypatch):
    monkeypatch.setenv(TRACEBACK, "1")
    code, _, err = run("train", "a2c")
    assert code == 2 and err.startswith("Traceback")


def test_version(run):
    assert run("--version") == (0, f"rlfabric {version('rlfabric')}\n", "")


@pytest.fixture
def started(monkeypatch):
    """What ``host.runs.start_run.start`` was called with."""
    seen = SimpleNamespace()

    def start(config, **options):
        seen.config, seen.options = config, options
        return 130

    monkeypatch.setattr("host.runs.start_run.start", start)
    return seen


def test_train_passes_every_option_on(run, started, tmp_path):
    env = "gymnasium.envs.classic_control:Acrobot-v1"
    code, _, _ = run(
        "train", "dqn", "--env", env, "--card", "sim", "--steps", 9, "--seed", 4,
        "--until-solved", "--resume", "--trace", "--set", "gamma=0.9", "--set", "kernel.lanes=2",
        "--learner", "cpu", "--board", "u50",
    )  # fmt: skip
    assert code == 130
    asked = dict(env=env, learner="cpu", steps=9, seed=4, until_solved=True)
    assert asked.items() <= started.config.to_dict().items() and started.config.agent.gamma == 0.9
    options = dict(card="sim", board="u50", resume=True, trace=True, kernel={"lanes": "2"})
    options |= dict(out=None, overwrite=False, preset_name=None, trace_launches=20)
    options |= dict(actors=ActorOptions())
    assert started.options == options
    run("train", "dqn", "--card", "sim", "--trace-launches", 5)
    assert started.options["trace"] and started.options["trace_launches"] == 5
    run(
        "train", "ppo", "--preset", "heppo5", "--threshold", 90.5, "--out", tmp_path, "--overwrite"
    )  # fmt: skip
    assert started.options["overwrite"] and started.options["preset_name"] == "heppo5"
    assert started.config.agent.rewards == "dynamic" and started.options["out"] == tmp_path
    assert started.config.threshold == 90.5 and started.config.until_solved
    (tmp_path / "file.json").write_text('{"gamma": 0.5}')
    run("train", "dqn", "--config", tmp_path / "file.json")
    assert started.config.agent.gamma == 0.5 and started.config.learner == "card"


@pytest.mark.parametrize("text, steps", [("1e5", 100_000), ("1500", 1500)])
def test_steps(run, started, text, steps):
    """user, polish: --set steps=1e5 was an integer, and --steps 1e5 was none."""
    assert run("train", "dqn", "--steps", text)[0] == 130
    assert started.config.steps == steps


@pytest.mark.parametrize("text", ["0", "-3", "1.5", "many"])
def test_steps_that_are_none(run, started, text):
    code, _, err = run("train", "dqn", "--steps", text)
    words = " ".join(err.replace("│", " ").split())
    assert code == 2 and "must be a positive integer, such as 1000 or 1e5, not" in words


@pytest.mark.parametrize(
    "words, shown",
    [
        (["--gamma", "0.9"], "gamma=0.9"),
        (["--gamma=0.9"], "gamma=0.9"),
        (["--learning-rate", "1e-3", "--seed", "3"], "learning_rate=1e-3"),
        (["--dueling"], "dueling=VALUE"),
    ],
)
def test_a_field_that_is_no_option(run, words, shown):
    """user, polish: "No such option: --gamma", and nothing of how it is set."""
    code, _, err = run("train", "dqn", *words)
    said = "".join(err.replace("│", " ").split())
    assert code == 2 and f"afieldissetby`--set{shown}`" in said
    assert "isset" not in run("train", "dqn", "--zzz", "1")[2]


def test_modules_of_the_current_folder_are_found_last(run, started, tmp_path, monkeypatch):
    (tmp_path / "a_module_that_is_here.py").write_text(
        "import sys, gymnasium\nfrom gymnasium.envs.classic_control import CartPoleEnv\n"
        "gymnasium.register('Here-v0', entry_point=CartPoleEnv, reward_threshold=3)\n"
        "FOUND_BY = sys.path[-1]\n"
    )
    (tmp_path / "json.py").write_text("raise SystemExit('found first')")
    monkeypatch.chdir(tmp_path)
    code, _, err = run("train", "dqn", "--env", "a_module_that_is_here:Here-v0", "--until-solved")
    assert code == 130, err
    assert sys.modules["a_module_that_is_here"].FOUND_BY == str(tmp_path)
    assert str(tmp_path) not in sys.path
    del sys.modules["a_module_that_is_here"], gymnasium.registry["Here-v0"]


@pytest.mark.parametrize("words", [("doctor",), ("train", "dqn", "--card", "xrt")])
def test_files_of_the_current_folder_are_not_run_unasked(run, tmp_path, monkeypatch, words):
    """host 16: a ``pyxrt.py`` in the folder was imported in place of XRT's, which is missing."""
    (tmp_path / "pyxrt.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("host.cli.doctor._run", lambda *_: ("1.0", None))
    sys.modules.pop("pyxrt", None)
    _, _, err = run(*words)
    assert not (tmp_path / "ran").exists()
    assert words[0] == "doctor" or "pyxrt must be importable for card xrt" in err


def test_warnings_are_lines(run, monkeypatch):
    monkeypatch.setattr(
        "host.runs.start_run.start",
        ours("import warnings; warnings.warn('it is flat', UserWarning); return 0"),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code, _, err = run("train", "dqn")
    assert code == 0 and err == "rlfabric: warning: it is flat\n"
