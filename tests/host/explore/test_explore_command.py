"""``rlfabric explore``, what it writes, and ``--config`` of the commands that read it."""

import json

import pytest
from typer.testing import CliRunner

import boards
import host.kernels
import rlfabric
from host.cli.app import app
from host.explore import verification
from host.kernels import configure, find_design
from host.runs.request import request
from host.terminal.exit_codes import report
from hw.errors import UsageError
from hw.suggest import written
from tests.host.command_lines import invoke

SMALL = ["--set", "lanes=1", "--set", "multipliers=4", "--set", "hidden=16"]


@pytest.fixture(scope="module")
def explored(tmp_path_factory):
    """The file of a search of dqn, and what was printed."""
    out = tmp_path_factory.mktemp("explored")
    printed = invoke("explore", "dqn", "--batch", 32, "--out", out, *SMALL)
    return out / "u200/dqn/explore.json", printed


def test_what_is_written_and_printed(explored):
    file, printed = explored
    document = json.loads(file.read_text())
    choice = document["choice"]
    assert document["set"] == {
        "learner.lanes": 1, "learner.multipliers": 4, "learner.hidden": [16]
    }  # fmt: skip
    assert choice["fields"]["learner.batch"] == document["batch"] == 32
    assert choice["fields"]["learner.arithmetic.kind"] == "fixed" and choice["regions"] == [0]
    assert choice["clocks"] == document["fastest"]["clocks"] < document["default"]["clocks"]
    assert document["operation"] == "iteration of LEARN with 32 samples"
    assert {point["fields"]["replay.fanout"] for point in document["front"]} >= {4, 32}
    assert all(None not in point["resources"].values() for point in document["front"])
    for text in (f"{choice['clocks']} clocks; needs region 0", "explore.png", "--config"):
        assert text in printed
    assert (file.parent / "explore.png").read_bytes().startswith(b"\x89PNG")


def test_equal_searches_give_equal_bytes(explored, tmp_path):
    """Printed and written, with caches filled or empty."""
    file, _ = explored
    printed = invoke("explore", "dqn", "--batch", 32, "--out", tmp_path, "--json", *SMALL)
    assert printed.encode() == file.read_bytes()
    assert (tmp_path / "u200/dqn/explore.json").read_bytes() == file.read_bytes()


@pytest.fixture
def made(monkeypatch):
    """``made(*words)``: the config of the kernel that `verilog` would write, as a dict."""

    def generate(name, board, out, *, overwrite, library, **values):
        made = configure(find_design(name), boards.get(board), values, library=library)
        found.append(made.to_dict())
        return out

    def made(*words):
        invoke("verilog", *words)
        return found.pop()

    found = []
    monkeypatch.setattr(host.kernels, "generate", generate)
    return made


def test_a_kernel_is_made_of_the_choice(explored, made):
    file, _ = explored
    config = made("dqn", "--config", file, "--fanout", 4)
    fields = json.loads(file.read_text())["choice"]["fields"]
    assert config["learner"]["batch"] == 32 and config["learner"]["hidden"] == (16,)
    assert config["learner"]["update_units"] == fields["learner.update_units"]
    assert config["learner"]["arithmetic"]["kind"] == "fixed"
    assert config["replay"]["fanout"] == 4, "an option goes before the file"
    assert made("dqn", "--config", file)["replay"]["fanout"] == fields["replay.fanout"] != 4


def said(*words):
    """The line on stderr, and the ``--set`` in it."""
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exit_code == 0, found.exception
    (*_, line) = ["", *found.stderr.splitlines()]
    words = line.split("; ")[1].split(" takes ")[0].split() if "--set" in line else []
    return line, words


@pytest.mark.parametrize("name, board, settings", [
    ("dqn", "u200", []), ("dqn", "u200", ["--set", "kind=float32", "--set", "hidden=32"]),
    ("replay", "u50", ["--capacity", "4096"]),
])  # fmt: skip
def test_a_kernel_far_from_the_best_is_told(made, name, board, settings):
    """The clocks are those of the kernels, and what the line proposes is taken and not told."""
    config = made(name, "--board", board, *settings)
    line, words = said("verilog", name, "--board", board, *settings)
    space, kind = find_design(name).space, type(find_design(name).default(
        boards.get(board).numbers))  # fmt: skip
    numbers = [kind.from_dict(each) for each in (config, made(
        name, "--board", board, *settings, *words))]  # fmt: skip
    own, better = (space.clocks(each, space.batch(each)) for each in numbers)
    assert f" takes {own} clocks; --set " in line and f" takes {better} clocks" in line
    assert line.startswith(f"rlfabric: {name}: ") and line.count("\n") == 0
    assert line.endswith("; --explored takes the choice of `rlfabric explore`")
    assert better * 1.01 < own and ("changes the results" in line) == ("kind=fixed" in line)
    assert not set(words) & set(settings) - {"--set"}
    assert "takes" not in said("verilog", name, "--board", board, *settings, *words)[0]


def test_no_word_where_nothing_is_better(made, explored):
    file, _ = explored
    assert said("verilog", "gae")[0] == said("verilog", "dqn", "--config", file)[0] == ""
    fields = json.loads(file.read_text())["choice"]["fields"]
    words = [w for name, v in fields.items() for w in ("--set", f"{name}={written(v)}")]
    assert said("verilog", "dqn", *words)[0] == ""


@pytest.mark.parametrize("command", ["verilog", "bitstream", "report"])
def test_the_choice_of_all_that_is_not_given(tmp_path, monkeypatch, command):
    """``--explored`` takes what ``explore`` prints."""
    found = []

    def take(design, board, *_, overwrite, library, levels=None, **values):
        for name in ("storage_bytes", "mhz"):
            values.pop(name, None)
        found.append(configure(find_design(design), boards.get(board), values))
        raise UsageError("enough")

    for place in (
        "host.kernels.generate",
        "host.kernels.package",
        "host.explore.resource_report.make",
    ):
        monkeypatch.setattr(place, take)
    words = ["gae", "--board", "zcu106", "--set", "rows=16"]
    text = invoke("explore", *words, "--json", "--out", tmp_path)
    choice = json.loads(text)["choice"]
    assert invoke(command, *words, "--explored", code=2) == "enough"
    wanted = configure(find_design("gae"), boards.get("zcu106"), choice["fields"])
    assert found == [wanted] and wanted.gae.rows == 16 and wanted.gae.lookahead == 3
    found.clear()
    assert invoke(command, *words, code=2) == "enough" and found[0].gae.lookahead == 2


def test_what_does_not_fit_is_told_with_what_does():
    """8 lanes in binary32 are too large for a ZCU106: the line comes before the refusal."""
    found = CliRunner().invoke(app, ["verilog", "dqn", "--board", "zcu106", "--set", "lanes=8"])
    assert report(found.exception) == 4
    assert "takes too much of ZCU106; --set learner.arithmetic.kind=fixed" in found.stderr


def test_a_file_of_fields(tmp_path, made):
    """Nested or not, as ``--set`` names them."""
    file = tmp_path / "fields.json"
    file.write_text('{"fanout": 8, "engine": {"depth": 64}}')
    config = made("replay", "--config", file, "--set", "engine.bursts=9")
    assert config["replay"]["fanout"] == 8
    assert config["engine"]["depth"] == 64 and config["engine"]["bursts"] == 9


def test_another_ones_choice_is_refused(explored, tmp_path):
    file, _ = explored
    for words, text in (
        (["verilog", "ddpg"], "design must be ddpg, not 'dqn' as in"),
        (["report", "dqn", "--board", "u50"], "board must be u50, not 'u200' as in"),
    ):
        assert text in invoke(*words, "--config", file, "--out", tmp_path, code=2)
    rule = tmp_path / "rule.json"
    rule.write_text(json.dumps({"rule": "cf22", "choice": {}}))
    assert "not rule 'cf22'" in invoke("verilog", "dqn", "--config", rule, code=2)
    rule.write_text("[]")
    assert "must be a JSON object" in invoke("verilog", "dqn", "--config", rule, code=2)


def requested(file, **settings):
    return request("dqn", options={}, settings=settings, file=file, board="u200")


def test_a_run_takes_the_choice(explored):
    """If the run and the search agree on what the run decides."""
    file, _ = explored
    config, kernel = requested(file, hidden="16")
    assert config.agent.batch_size == 32 and kernel["learner.multipliers"] == 4
    with pytest.raises(
        UsageError, match=r"learner.hidden must be 64,64, as the run decides, not 16"
    ):
        requested(file)
    with pytest.raises(UsageError, match=r"learner.batch must be 64, as the run decides, not 32"):
        requested(file, hidden="16", batch_size="64")
    with pytest.raises(UsageError, match="design must be replay, not 'dqn'"):
        request("dqn", options={"learner": "cpu"}, settings={}, file=file, board="u200")


@pytest.mark.parametrize("name", ["kernel.fanout", "kernel.replay.fanout"])
def test_what_is_set_goes_before_the_choice(explored, name):
    file, _ = explored
    chosen = json.loads(file.read_text())["choice"]["fields"]["replay.fanout"]
    for settings, fanout in (({}, chosen), ({name: "64"}, 64)):
        _, kernel = requested(file, hidden="16", **settings)
        made = configure(find_design("dqn"), boards.get("u200"), kernel)
        assert made.replay.fanout == fanout != 0
    assert chosen != 64


def test_the_api_gives_the_same(explored):
    file, _ = explored
    values = {"learner.lanes": 1, "multipliers": 4, "hidden": (16,)}
    found = rlfabric.explore("dqn", batch=32, **values)
    assert json.loads(json.dumps(found)) == json.loads(file.read_text())


@pytest.mark.parametrize(
    "words, code, text",
    [
        (["nothing"], 2, "design must be one of replay"),
        (["dqn", "--board", "u1"], 2, "board must be one of u200"),
        (["dqn", "--regions", "7"], 2, "regions must be all, or some of 0, 1, 2"),
        (["dqn", "--set", "nothing=1"], 2, "nothing must be the name of a field"),
        (["dqn", "--rule", "other"], 2, "rule must be ours or cf22, not 'other'"),
        (["gae", "--rule", "cf22"], 2, "design must be one of dqn, ddpg for cf22, not 'gae'"),
        (["dqn", "--rule", "cf22", "--cap", "x"], 2, "cap must be an integer, not 'x'"),
        (["dqn", "--rule", "cf22", "--set", "lanes=2"], 2, "lanes must be one of observation, "),
        (["dqn", "--cap", "32"], 2, "cap must be with --rule cf22, not alone"),
        (["fixar", "--board", "ulx3s"], 4, "bram36 must be at most 19 in ULX3S-85F"),
        (["replay", "--set", "capacity=1e12"], 2, "capacity must be"),
        (["replay", "--board", "ulx3s", "--set", "capacity=1048576"], 4, "must be at most"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(words, code, text):
    assert text in invoke("explore", *words, code=code)


def test_a_batch_must_be_one():
    with pytest.raises(UsageError, match="batch must be a positive integer, not 0"):
        rlfabric.explore("gae", batch=0)


def test_cf22s_rule():
    """CF'22's networks, with the paper's cap and without."""
    found = json.loads(invoke("explore", "dqn", "--rule", "cf22", "--cap", 32, "--json"))
    assert [found[n] for n in ("dp", "widest", "dsp", "clocks")] == [2, 32, 1600, 312]
    printed = invoke("explore", "ddpg", "--rule", "cf22")
    assert "choice: DP 2, 32 multipliers in the widest unit, 2560 DSP blocks, 780 cl" in printed
    printed = invoke("explore", "dqn", "--rule", "cf22", "--cap", "none", "--set", "hidden=64")
    assert "choice: DP 1, 64 multipliers in the widest unit, 1600 DSP blocks, 280 cl" in printed


def test_two_regions_and_what_they_would_buy(tmp_path):
    printed = invoke("explore", "fixar", "--board", "u50", "--out", tmp_path)
    assert "needs 2 regions" in printed and "a gain of less than a hundredth" in printed


def test_without_the_plotting_library_numbers_are_written(tmp_path, monkeypatch, capsys):
    import host.explore.explore_view as exploration

    def missing(*_):
        raise rlfabric.MissingTool("matplotlib must be installed to draw, not missing")

    monkeypatch.setattr(exploration, "needed", missing)
    invoke("explore", "gae", "--out", tmp_path)
    folder = tmp_path / "u200/gae"
    assert (folder / "explore.json").exists() and not (folder / "explore.png").exists()


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "u200").write_text("")
    assert "must be writable" in invoke("explore", "gae", "--out", tmp_path, code=7)


def test_the_best_are_simulated_and_the_choice_is_mapped(tmp_path, monkeypatch):
    """With stand-ins for both; ``test_verified`` has the tools."""
    asked = []

    def measure(name, board, out, config, batch):
        asked.append((name, board, config, batch))
        return 1000 + len(asked)

    def report(name, board, config, **_):
        kernel = dict(lut=1, ff=2, bram36=3.5, uram=4, dsp=5)
        return {"kernel": kernel, "mapped": kernel | {"dsp": 99_999}}

    monkeypatch.setattr(verification, "measure", measure)
    monkeypatch.setattr(verification, "report", report)
    printed = invoke("explore", "gae", "--batch", 9, "--verify", 3, "--out", tmp_path)
    found = json.loads((tmp_path / "u200/gae/explore.json").read_text())
    assert [each["measured"] for each in found["verified"]] == [1001, 1002, 1003]
    clocks = [each["clocks"] for each in found["verified"]]
    assert clocks[0] == found["choice"]["clocks"] and len(set(clocks)) == 3
    assert found["choice"]["fields"].items() >= found["verified"][0]["fields"].items()
    assert {each[:2] + each[3:] for each in asked} == {("gae", "u200", 9)}
    assert f"{clocks[0]} by formula" in printed and "mapped by yosys: lut 1, ff 2, bram" in printed
    assert "does not fit as mapped: dsp must be at most 4677 on Alveo U200" in printed


@pytest.mark.long
def test_verified(tmp_path):
    words = ["--set", "gae.rows=4", "--set", "gae.depth=16", "--verify", 2, "--out", tmp_path]
    invoke("explore", "gae", *words)
    found = json.loads((tmp_path / "u200/gae/explore.json").read_text())
    assert all(each["measured"] == each["clocks"] for each in found["verified"])
    need, mapped = found["choice"]["resources"], found["mapped"]["kernel"]
    assert not found["mapped"]["lacks"] and abs(need["lut"] / mapped["lut"] - 1) < 0.1
