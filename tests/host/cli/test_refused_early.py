"""What a command refuses before it searches, measures or writes anything."""

import pytest
from typer.testing import CliRunner

import host.compose.answer
import host.kernels
import host.kernels.exploration_file
from bench import command as bench_command
from host.compose.plan_file import PLAN, PROGRAM
from host.terminal.exit_codes import UNWRITABLE
from tests.host.command_lines import invoke


@pytest.fixture(autouse=True)
def no_work(monkeypatch):
    """Nothing that takes long is begun."""

    def begun(*_, **__):
        raise AssertionError("work was begun")

    for module, name in (
        (host.kernels.exploration_file, "explore"),
        (host.kernels, "package"),
        (host.compose.answer, "_measure"),
        (bench_command, "_solve"),
    ):
        monkeypatch.setattr(module, name, begun)


PLAYS = ["dqn", "--set", "play.environments=4"]
BITSTREAM = ["bitstream", "replay", "--board"]


@pytest.mark.parametrize("words, rule", [
    (["explore", *PLAYS, "--verify", 1],
     "play.environments must be 0 to measure an operation (--verify), not 4"),
    (["explore", "dqn", "--rule", "cf22", "--verify", 2], "verify must be with --rule ours, not "),
    (["explore", "dqn", "--rule", "cf22", "--regions", 0], "regions must be with --rule ours, not"),
    ([*BITSTREAM, "ulx3s", "--target", "hw_emu"], "target must be one of hw on ULX3S"),
    ([*BITSTREAM, "u50", "--target", "none"], "target must be one of hw, hw_emu on Alveo U50"),
    ([*BITSTREAM, "u50", "--seed", 1], "seed must be none on Alveo U50"),
    ([*BITSTREAM, "ulx3s", "--seed", 1 << 31], "seed must be an integer in 1..2147483647, not "),
    ([*BITSTREAM, "ulx3s", "--platform", "x"], "platform must be none on ULX3S"),
    (["compose", "dqn", "--profile", "--metric", "watts"], "metric must be one of throughput, eff"),
    (["compose", "dqn", "--profile", "--card", "cpu"], "card must be model, sim, xrt[:N], pynq:"),
])  # fmt: skip
def test_options(tmp_path, words, rule):
    out = tmp_path / "out"
    text = invoke(*words, "--out", out, code=2)
    assert rule in text and text.count("\n") == 0 and not out.exists()


@pytest.mark.parametrize("more, file", [([], PLAN), (["--generate"], PROGRAM)])
def test_a_plan_that_a_profile_would_replace(tmp_path, more, file):
    """Since its times are others, its plan is another one."""
    (tmp_path / file).write_text("a plan")
    words = ["compose", "dqn", "--env", "CartPole-v1", "--profile", *more, "--out", tmp_path]
    assert f"out must have no other {'plan' if file == PLAN else 'program'}" in invoke(
        *words, code=2
    )
    with pytest.raises(AssertionError, match="work was begun"):
        invoke(*words, "--overwrite")
    assert [path.name for path in tmp_path.iterdir()] == [file]


def test_a_folder_that_cannot_be_made(tmp_path):
    """Of points that would be simulated for minutes."""
    (tmp_path / "out").write_text("")
    words = ["explore", "replay", "--verify", 1, "--out", tmp_path / "out"]
    assert "must be writable, not refused" in invoke(*words, code=UNWRITABLE)


@pytest.mark.parametrize("words, rule", [
    (["solve", "--fresh"], "fresh must be with --write, not alone"),
    (["play", "--seeds", "2"], "only, seeds, state and limit-s must be with solve, not play"),
])  # fmt: skip
def test_benches(words, rule):
    found = CliRunner().invoke(bench_command.app, words)
    assert rule == str(found.exception)


def test_a_bench_of_sources_that_are_not_committed(monkeypatch):
    monkeypatch.setattr("bench.provenance.changed", lambda: ["hw/errors.py"])
    found = CliRunner().invoke(bench_command.app, ["solve", "--write"])
    assert "hw/errors.py" in str(found.exception)
