"""``rlfabric compose`` with times that are given: what it prints and writes, and its errors."""

import json
import re
from pathlib import Path

import pytest

import host.compose.algorithm1 as by_times
from host.compose import compose_view
from hw.errors import MissingTool
from tests.host.composed_plans import compose
from tests.host.machine_files import DEVICES, TIMES, write_machine

SIZES = ["--batch", 512, "--inserts", 256, "--words", 12]


@pytest.fixture
def files(tmp_path):
    """The options that name the files."""
    paths = write_machine(tmp_path)
    return [word for name in paths for word in (f"--{name.stem}", name)]


@pytest.fixture
def undrawn(monkeypatch):
    """The picture is a word, which takes no time."""
    monkeypatch.setattr(by_times, "drawn", lambda algo, found: b"picture")


def near(value):
    return pytest.approx(value, rel=1e-9, abs=0)


def test_json(files):
    """The numbers are those of ``test_transfers_added``; efficiency takes the card, not the GPU."""
    words = ["dqn", *files, *SIZES, "--transfers", "added", "--metric", "efficiency", "--json"]
    printed = compose(*words)
    found = json.loads(printed)
    choice = found["choice"]
    assert (choice["rm"], choice["learner"], choice["storage"]) == ("card0", "card0", "card0")
    assert choice["iteration_us"] == near(84) and choice["eps"] == near(512e6 / 84)
    assert choice["watts"] == 140 and choice["eps_per_watt"] == near(512e6 / 11_760)
    # 28 672 bytes at 16 GB/s, 12 288 at 8.
    assert choice["traffic_us"] == near(1.792 + 1.536)
    totals = [each["iteration_us"] for each in found["alternatives"]]
    assert totals == near([592, 129.512, 99.256, 567.512, 84, 97.768, 605.256, 165.768, 80])
    assert found["portability"] == near(9 * 512e6 / 2421.072) and found["refused"] == []
    assert found["sizes"] == {"batch": 512, "inserts": 256, "words": 12}
    assert (found["algo"], found["transfers"], found["metric"]) == ("dqn", "added", "efficiency")
    assert [each["name"] for each in found["machine"]["devices"]] == ["cpu0", "card0", "gpu0"]
    assert len(found["machine"]["links"]) == 5 and len(found["times"]) == 6
    assert printed == json.dumps(found, sort_keys=True, indent=2) + "\n"
    assert "csv" not in printed


def test_equal_inputs_give_equal_bytes(files, tmp_path):
    out = [tmp_path / name for name in ("one", "two")]
    printed = compose("dqn", *files, *SIZES, "--out", out[0])
    again = compose("dqn", *files, *SIZES, "--out", out[1], "--json")
    assert (out[0] / "plan.json").read_text() == again
    for name in ("plan.json", "grid.png"):
        assert (out[0] / name).read_bytes() == (out[1] / name).read_bytes()
        assert name in printed
    assert (out[0] / "grid.png").read_bytes().startswith(b"\x89PNG")


def test_another_plan_stays_unless_it_may_be_replaced(files, tmp_path, undrawn):
    first = ["dqn", *files, *SIZES, "--out", tmp_path / "out"]
    compose(*first)
    compose(*first)  # the same plan
    before = (tmp_path / "out/plan.json").read_bytes()
    text = compose(*first, "--metric", "efficiency", code=2)
    assert text.startswith("out must have no other plan, not ") and "--overwrite replaces" in text
    assert (tmp_path / "out/plan.json").read_bytes() == before


def test_files_are_replaced(files, tmp_path, undrawn):
    for metric in ("throughput", "efficiency"):
        words = ["--out", tmp_path / "out", "--metric", metric, "--overwrite"]
        compose("dqn", *files, *SIZES, *words)
        assert json.loads((tmp_path / "out/plan.json").read_text())["metric"] == metric
    assert (tmp_path / "out/grid.png").read_bytes() == b"picture"


def test_table(files, tmp_path):
    printed = compose("dqn", *files, *SIZES)
    rows = [line for line in printed.splitlines() if line.startswith("│")]
    assert len(rows) == 9 and rows[0].split("│")[1].split() == ["*", "card0"]
    assert [cell.strip() for cell in rows[0].split("│")[2:7]] == [
        "gpu0", "gpu0", "67", "7642k", "15.6k"
    ]  # fmt: skip
    assert "choice: RM on card0, learner on gpu0, storage on gpu0\n" in printed
    assert "equation 8: " in printed and "refused" not in printed and "cpu0: given\n" in printed
    assert not (tmp_path / "plan.json").exists()


def test_what_is_refused_is_said(files, tmp_path, undrawn):
    """Watts and times that nobody gave are no zeros."""
    times = "".join(line for line in TIMES.splitlines(True) if "gpu0,apart" not in line)
    write_machine(tmp_path, DEVICES.replace(",350,", ",,"), times=times)
    printed = compose("dqn", *files, *SIZES, "--out", tmp_path / "out")
    assert "equation 8: 0 EPS (a pair is refused)" in printed
    assert "not RM on gpu0 with learner on cpu0: times must have a line for gpu0 apart" in printed
    assert "choice: RM and learner on gpu0" in printed
    found = json.loads((tmp_path / "out/plan.json").read_text())
    assert len(found["refused"]) == 4 and found["choice"]["eps_per_watt"] is None
    assert "not empty for gpu0" in compose("dqn", *files, *SIZES, "--metric", "efficiency", code=2)


@pytest.mark.parametrize(
    "words, text",
    [
        (["nothing"], "ALGO must be one of "),
        (["ppo"], "ALGO must learn from replay, not from rollouts as ppo does"),
        (["dqn", "--metric", "speed"], "metric must be one of throughput, efficiency, not 'speed'"),
        (["dqn", "--transfers", "x"], "transfers must be one of included, added, not 'x'"),
        (["dqn", "--machine", "u50_host"], "devices must be without a machine or board"),
    ],
)
def test_what_is_wrong_is_said(files, words, text):
    assert text in compose(*words, *files, *SIZES, code=2)


def test_what_is_absent_is_said(files):
    text = "inserts must be given with times, not without them"
    assert text in compose("dqn", *files[:4], *SIZES, code=2)
    for k, name in enumerate(("batch", "inserts", "words")):
        given = SIZES[: 2 * k] + SIZES[2 * k + 2 :]
        assert f"{name} must be given with times, not absent" in compose(
            "dqn", *files, *given, code=2
        )


def test_a_machine_by_name(files):
    assert "choice: " in compose("dqn", "--machine", "pearl_cgf", *files[4:], *SIZES)
    text = "device must be one of cpu0, card0, not 'gpu0' (times.csv line 6)"
    assert text in compose("dqn", "--machine", "u200_host", *files[4:], *SIZES, code=2)


def test_without_the_plotting_library_numbers_are_written(files, tmp_path, monkeypatch):
    def missing(*_):
        raise MissingTool("matplotlib must be installed to draw, not missing")

    monkeypatch.setattr(compose_view, "needed", missing)
    compose("dqn", *files, *SIZES, "--out", tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["plan.json"]


def test_a_folder_that_cannot_be_written(files, tmp_path, undrawn):
    (tmp_path / "out").write_text("")
    assert "must be writable" in compose("dqn", *files, *SIZES, "--out", tmp_path / "out", code=7)


def test_the_example_of_the_documents(tmp_path):
    """The files of docs/composer.md, and the three choices that it names."""
    page = (Path(__file__).parents[3] / "docs/composer.md").read_text()
    texts = re.findall(r"```csv\n(.*?)```", page, re.S)
    assert len(texts) == 3
    paths = write_machine(tmp_path, *texts)
    words = ["dqn", *(word for name in paths for word in (f"--{name.stem}", name)), *SIZES]
    (choice,) = re.findall(r"^    (choice: .*\n)", page, re.M)
    assert choice in compose(*words)
    assert "RM and learner on gpu0" in compose(*words, "--transfers", "added")
    efficient = compose(*words, "--transfers", "added", "--metric", "efficiency")
    assert "RM and learner on card0" in efficient
