"""Every `rlfabric ...` line that is shown anywhere runs: with few steps, small sizes, on twins."""

import re

import gymnasium
import pytest
from extensions import shown, visible
from marks import long_but

import host.compose.answer as composed
from tests.host.command_lines import COMMANDS, lines, parsed, words_of
from tests.host.machine_files import write_machine

LINES = lines()

#: what begins a line that is parsed, and not run here -> why
PARSED = {
    "rlfabric bitstream ": "needs a vendor's tools, or minutes of place and route",
    "rlfabric report ": "minutes of yosys; tests/boards/test_report.py runs a small design",
    "rlfabric verilog ": "long: below",
    "rlfabric train ppo --env Hopper-v5": "needs MuJoCo, an extra that no test installs",
    "rlfabric train ddpg --design fixar --env HalfCheetah-v5": "the same; Pendulum-v1 is run",
    "rlfabric train ddpg --env HalfCheetah-v5 --preset": "the same; test_presets_of_ddpg",
    "rlfabric train dqn --actors 10.0.0.1:6379": "needs a cluster of Ray",
    "rlfabric watch uart:": "needs a board; tests/host/play/test_play_view.py has one's twin",
    "rlfabric -v ...": "no line: a place for one",
}

#: options with which a run takes a second and not minutes
SMALL = (
    "--steps 400 --card model --set evaluation_episodes=1 --set evaluation_interval_steps=400"
).split()
AGENT = "--set hidden=8,8 --set batch_size=16 --set capacity=512 --set learning_starts=64".split()
ROLLOUT = "--set batch_size=16 --set steps_per_launch=16".split()
ROUNDS = "--set hidden=16 --set env_count=4 --set evaluation_steps=50".split()

#: what begins a line that the long tests run -> what quick test runs its parts
LONG = {
    "rlfabric train dqn --env CartPole-v1 --actors 2": "host/actors, with Ray",
    "rlfabric compose dqn --env CartPole-v1 --actors 2": "test_compose_actors, test_actor_times",
    "rlfabric train dqn --env CartPole-v1 --act card": "test_program, where the card acts",
    "rlfabric train a3c --env ALE/Pong-v5": "MinAtar/Breakout-v1; test_pixels",
}

#: fields that stay in a search, which then has few configs
FEW = {"dqn": ["--set", "lanes=2", "--set", "multipliers=8"]}
#: and a board's, which has no place for those
FEW_OF_A_BOARD = {"ulx3s": ["--set", "lanes=1", "--set", "multipliers=1"]}

MODULE = """
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv

gymnasium.register("MyEnv-v0", entry_point=CartPoleEnv, max_episode_steps=20)
"""


def is_name(line):
    """Whether only a command is named, and not how it is called."""
    return re.fullmatch(r"rlfabric [a-z]+", line) and line.split()[1] not in ("doctor", "list")


def runs():
    lines = [n for n in LINES if not is_name(n) and not n.startswith(tuple(PARSED))]
    return long_but([n for n in lines if not n.startswith(tuple(LONG))], lines)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder with a user's own module in it, where everything is built."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("host.runs.start_run.BUILD_DIRECTORY", tmp_path / "build")
    monkeypatch.setattr("host.compose.profile.WARM", 1)
    monkeypatch.setattr("host.compose.primitive_times.ITERATIONS", 5)
    algorithm = shown("adding_an_algorithm.md")["my_agents/sarsa.py"]
    (tmp_path / "my_package.py").write_text(MODULE + algorithm)
    with visible(tmp_path, on_path=False):
        yield tmp_path
    gymnasium.registry.pop("MyEnv-v0", None)


def small(words):
    """Words of a training that is over in a second."""
    return [*words, *SMALL, *{"ppo": ROLLOUT, "a3c": ROUNDS}.get(words[1], AGENT)]


def brief(words):
    """Words of a composition with the shortest profile there is, and of a run of 400 steps."""
    run = ["--set", "steps=400", "--set", "evaluation_episodes=1"] if "--run" in words else []
    profile = [] if "--profile" in words else ["--profile"]
    return [*words, *profile, "--launches", "5", *AGENT, *run]


def ran(run, words):
    code, out, err = run(*words)
    assert code == 0, f"{' '.join(map(str, words))}: {err}"
    return out


def test_lines_are_found():
    assert len(LINES) > 25 and "README.md" in LINES.values() and "train --help" in LINES.values()
    assert "rlfabric train ALGO --env ENV --card model|sim|xrt[:N] [--learner card|cpu]" in LINES
    for beginning in (*PARSED, *LONG):
        assert any(line.startswith(beginning) for line in LINES), f"{beginning} is not shown now"


@pytest.mark.parametrize("line", LINES)
def test_parses(line, monkeypatch):
    monkeypatch.setenv("RLFABRIC_TRACEBACK", "")  # -v sets it
    if is_name(line):
        assert line.split()[1] in COMMANDS
    elif "..." not in line:
        parsed(words_of(line))


def test_an_unknown_option_does_not_parse():
    for line in ("train dqn --sed 3", "verilog replay --lin", "show", "list --all"):
        with pytest.raises(Exception, match="No such option|Missing parameter"):
            parsed(line.split())


@pytest.mark.parametrize("line", runs())
def test_runs(run, here, line, monkeypatch):
    words = words_of(line)
    if words[0] == "train":
        if "--resume" in words:
            ran(run, small([word for word in words if word != "--resume"]))
        for folder in re.findall(r"runs/\w+(?=/summary)", line):
            ran(run, small(["train", "dqn", "--out", folder]))
        if "plan.json" in words:
            ran(run, brief(["compose", "dqn", "--out", "."]))
        out = ran(run, small(words))
        assert out.splitlines()[-1].endswith("returns.png")
    elif words[0] == "evaluate":
        ran(run, small(["train", "dqn", "--out", words[1]]))
        if "--render" in words:  # no window here; test_playing has one of its own
            words = words[: words.index("--render")]
        assert ran(run, [*words, "--episodes", 2]).startswith("mean return ")
    elif words[0] in ("export", "watch"):
        ran(run, small(["train", "dqn", "--out", words[1]]))
        assert ran(run, words)
    elif words[0] == "explore":
        board = words[words.index("--board") + 1] if "--board" in words else None
        few = FEW_OF_A_BOARD.get(board) or FEW.get(words[1], [])
        few = [] if "--rule" in words else [*few, "--out", here / "build"]
        assert "choice: " in ran(run, [*words, *few]) or "--json" in words
    elif words[0] == "compose":
        write_machine(here)
        # test_generated.py has a program whose kernel is written.
        monkeypatch.setattr(composed, "write_kernel", lambda *_, **__: None)
        found = ran(run, words if "--times" in words else brief(words))
        assert "choice: " in found or "--json" in words
    else:
        assert ran(run, words)


@pytest.mark.long
@pytest.mark.parametrize(
    "line", [n for n in LINES if n.startswith("rlfabric verilog ") and not (is_name(n) or "<" in n)]
)
def test_verilog_is_written(run, here, line):
    folder = ran(run, [*words_of(line), "--out", here / "build"]).splitlines()[-1]
    assert (here / folder / "kernel.json").exists()
