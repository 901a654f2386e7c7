"""``--for-run``: a design's kernel is the one that a simulated card has for the run. user D3"""

import json

import pytest
from typer.testing import CliRunner

import boards
from host.cli.app import app
from host.cli.kernel_commands import _open_boards
from host.cli.run_kernel import of_run
from host.kernels import configure, find_design
from host.runs.request import request
from host.runs.run_config import spec_of
from host.runs.start_run import _banks, _kernel
from host.runs.summary import summary_of
from host.settings import flat
from tests.host.stub_designs import StubDesign


class _Session:
    """As much of one as a summary asks for."""

    class clock:
        steps = updates = 0

    launches = 0


class _Scores:
    episodes = threshold = 0
    mean_return, solved = None, False


@pytest.fixture
def trained(tmp_path, monkeypatch):
    """``trained(algo, board, settings)``: the folder of a run on card model, its config, and the
    description of its kernel."""
    monkeypatch.setattr("host.runs.start_run.BUILD_DIRECTORY", tmp_path / "build")

    def train(algo, board="u200", settings=(), card="model", **options):
        settings = dict(settings)
        config, kernel = request(algo, options=options, settings=settings, board=board)
        description = None
        if card == "model":
            _, description = _kernel(config, spec_of(config), card, board, kernel)
        summary = summary_of(config, _Session, _Scores, card, description)
        folder = tmp_path / "run"
        folder.mkdir(exist_ok=True)
        (folder / "summary.json").write_text(json.dumps(summary))
        return folder, config, description

    return train


def described(design, board, values):
    config = configure(find_design(design), boards.get(board), dict(values), library=True)
    return find_design(design).describe(config)


SMALL = {"capacity": "4096", "hidden": "8,8"}
NET = SMALL | {"kernel.multipliers": "4", "kernel.kind": "fixed", "kernel.lanes": "2"}


@pytest.mark.parametrize(
    "algo, design, board, options, settings",
    [
        ("dqn", "replay", "u200", {"learner": "cpu"}, SMALL | {"kernel.fanout": "4"}),
        ("dqn", "dqn", "u50", {}, NET),
        ("ddpg", "ddpg", "zcu106", {}, NET),
        ("ddpg", "fixar", "u200", {"design": "fixar"}, SMALL | {"kernel.side": "4"}),
        ("ppo", "gae", "zcu106", {}, {"kernel.lookahead": "1", "env_count": "4"}),
        ("a3c", "a3c", "u200", {}, {"env_count": "6", "kernel.lanes": "2"}),
    ],
)
def test_the_kernel_is_the_runs(trained, algo, design, board, options, settings):
    folder, _, description = trained(algo, board, settings, **options)
    for run in (folder, folder / "summary.json"):
        values, _ = of_run(run, design, board, {})
        assert values.pop("library") is True
        made = described(design, board, values)
        assert made.to_json() == description.to_json()
    for name, value in settings.items():  # and both have what was asked of the kernel
        if name.startswith("kernel."):
            name = name.removeprefix("kernel.")
            found = {leaf: each for leaf, each in flat(made.config).items() if leaf.endswith(name)}
            assert value in map(str, found.values())


def test_what_is_asked_for_besides_wins(trained):
    folder, _, _ = trained("dqn", "u200", NET)
    asked = {"lanes": "4", "capacity": 8192, "multipliers": "8"}  # the run was asked for 4
    values, stored = of_run(folder, "dqn", "u200", asked)
    values.pop("library")
    config = described("dqn", "u200", values).config
    assert (config["learner"]["lanes"], config["learner"]["hidden"]) == (4, (8, 8))
    assert config["learner"]["multipliers"] == 8
    assert config["replay"]["capacity"] == 8192 and stored is None
    assert of_run(None, "dqn", "u200", {"lanes": "4"}) == ({"lanes": "4"}, None)


def test_as_much_memory_as_the_run_has(trained):
    """Experiences of 812 bytes are longer than a kernel of draws alone can know."""
    options = {"learner": "cpu", "env": "MinAtar/Breakout-v1"}
    folder, config, description = trained("dqn", "u50", {"capacity": str(1 << 19)}, **options)
    _, stored = of_run(folder, "replay", "u50", {})
    assert stored == (1 << 19) * 832
    board = boards.get("u50")
    *_, bank = _banks(config, spec_of(config), description, board)
    assert stored <= bank.size < stored + board.banks[0].size


@pytest.mark.parametrize("command", ["verilog", "bitstream", "report"])
def test_another_designs_kernel_is_refused(trained, command):
    folder, _, _ = trained("dqn", "u200", SMALL, learner="cpu")
    words = [command, "dqn", "--for-run", str(folder), "--out", str(folder / "build")]
    error = CliRunner().invoke(app, words).exception
    assert str(error) == f"DESIGN must be replay, the kernel that {folder} needs, not 'dqn'"
    assert not (folder / "build").exists()


def test_what_is_no_run(trained, tmp_path):
    folder, _, _ = trained("a3c", learner="cpu", card="none")
    with pytest.raises(ValueError, match="^DESIGN must be none, since .* needs no kernel, not"):
        of_run(folder, "a3c", "u200", {})
    for path, message in (
        (tmp_path / "none", "must be a file of JSON, not .*none"),
        (tmp_path, "must be a file of JSON, not .*summary.json"),
    ):
        with pytest.raises(ValueError, match=f"^--for-run {message}"):
            of_run(path, "replay", "u200", {})
    (tmp_path / "summary.json").write_text("{}")
    with pytest.raises(ValueError, match="^--for-run must be a run's folder or its summary.json"):
        of_run(tmp_path, "replay", "u200", {})


# user D1, D2
def test_a_folder_with_a_finished_bitstream_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("host.kernels.DESIGNS", {"stub": StubDesign()})
    words = ["verilog", "stub", "--out", str(tmp_path)]
    assert CliRunner().invoke(app, words).exit_code == 0
    (tmp_path / "u200" / "stub" / "stub.xclbin").write_text("hours")
    other = [*words, "--fanout", "8"]
    for command in (other, ["report", *other[1:]]):
        error = CliRunner().invoke(app, command).exception
        assert isinstance(error, ValueError) and "stub.xclbin" in str(error)
    assert CliRunner().invoke(app, words).exit_code == 0
    assert CliRunner().invoke(app, [*other, "--overwrite"]).exit_code == 0
    assert not (tmp_path / "u200" / "stub" / "stub.xclbin").exists()


def test_boards_without_a_vendors_tool_are_those_that_the_design_fits():
    assert list(_open_boards("replay")) == ["ulx3s"] and not list(_open_boards("a3c"))
