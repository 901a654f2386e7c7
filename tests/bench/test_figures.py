"""bench.figures: the papers' figures are drawn from kept rows and records, and only from these."""

import io
import json
import re
import xml.etree.ElementTree as ET

import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from bench import figures, pages, roofline
from bench.command import app
from bench.panels import draw
from bench.results import FOLDER
from hw.errors import UsageError

DATA = figures.figures()
#: Figures of each paper that have a picture.
WANTED = {
    "cf22": (3, 7, 8, 9, 10, 11),
    "pearl": (8, 9, 10, 11),
    "heppo": (7, 8, 9, 10, 11),
    "fixar": (7, 8, 9, 10),
    "fa3c": (8, 9, 10, 12),
}
SOURCES = {"y", "row", "rows", "run", "runs", "curve", "roofline"}


def all_series(figure, kind):
    return [each for panel in figure["panels"] for each in panel.get(kind, [])]


@pytest.fixture(scope="module")
def shown():
    return {name: figures.resolved(name, figure) for name, figure in DATA.items()}


def test_every_figure_has_data_and_a_picture():
    papers = [f"{paper}-{k:02}" for paper, numbers in WANTED.items() for k in numbers]
    wanted = [*papers, "solve"]
    assert list(DATA) == wanted
    assert {path.stem for path in figures.PICTURES.glob("*.svg")} == {*wanted}
    assert (figures.PICTURES / "README.md").read_text() == figures.index(DATA)
    for name in papers:
        assert DATA[name]["figure"] == f"Fig. {int(name[-2:])}"


@pytest.mark.parametrize("name", DATA)
def test_a_panel_has_points_or_the_reason(name):
    """Marks say where the paper has them; ours are never typed."""
    for panel in DATA[name]["panels"]:
        assert panel["title"] and panel["x"] and panel["y"]
        for kind in ("marks", "lines"):
            assert bool(panel.get(kind)) != bool(panel.get(f"no_{kind}")), (panel["title"], kind)
    for each in [*all_series(DATA[name], "marks"), *all_series(DATA[name], "lines")]:
        assert each["label"] and len(SOURCES & {*each}) == 1, each
    assert all(each["how"] for each in all_series(DATA[name], "marks"))
    assert not [each for each in all_series(DATA[name], "lines") if "y" in each]


@pytest.mark.parametrize("name", DATA)
def test_pictures_are_those_of_the_data(name, shown):
    """`python -m bench figures` draws them where this fails."""
    text = (figures.PICTURES / f"{name}.svg").read_text()
    assert f"<dc:identifier>{figures.digest(shown[name])}</dc:identifier>" in text
    words = " ".join("".join(each.itertext()) for each in ET.fromstring(text).iter())
    for panel in DATA[name]["panels"]:
        assert all(panel[each] in words for each in ("title", "x", "y"))
    for each in [*all_series(DATA[name], "marks"), *all_series(DATA[name], "lines")]:
        assert each["label"].split("(")[0][:30] in words
    assert "matplotlib v" not in text.lower() and "<dc:date>" not in text


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """Rows and records with other values: numbers doubled, and returns larger by one."""
    rows, runs = tmp_path_factory.mktemp("rows"), tmp_path_factory.mktemp("runs")
    for path in FOLDER.glob("*.json"):
        measured = json.loads(path.read_text())
        for row in (row for each in measured for row in each["rows"]):
            for key in ("value", "reference_value"):
                if isinstance(row[key], int | float):
                    row[key] = 2 * row[key] + 1
        (rows / path.name).write_text(json.dumps(measured))
    for path in figures.RUNS.glob("*/*.json"):
        record = json.loads(path.read_text())
        record["mean_return"] += 1
        record["curve"] = [[x, y + 1] for x, y in record["curve"] or []]
        (runs / path.parent.name).mkdir(exist_ok=True)
        (runs / path.parent.name / path.name).write_text(json.dumps(record))
    return rows, runs


@pytest.mark.parametrize("name", DATA)
def test_numbers_come_from_rows_and_records(name, shown, other):
    """Every point of every line is another where the rows are others; printed marks stay."""
    changed = figures.resolved(name, DATA[name], *other)
    for ours, theirs in zip(
        all_series(shown[name], "lines"), all_series(changed, "lines"), strict=True
    ):
        if "reached" in ours:
            assert ours["reached"] != theirs["reached"]
        else:
            same = [a for a, b in zip(ours["points"], theirs["points"], strict=True) if a == b]
            # A value over itself is one whatever the row has.
            assert all(y == 1 for _, y in same), ours["label"]
    for raw, was, now in zip(
        *(all_series(each, "marks") for each in (DATA[name], shown[name], changed)), strict=True
    ):
        assert ("y" in raw) == (was == now), raw["label"]
    grey = not all_series(DATA[name], "lines")
    assert (figures.digest(changed) == figures.digest(shown[name])) == grey


def test_bytes_are_those_of_the_figure(shown):
    """The same twice, and others with another point."""
    figure = shown["cf22-11"]
    first, again, changed = io.BytesIO(), io.BytesIO(), io.BytesIO()
    draw(figure, "0", first)
    draw(figure, "0", again)
    assert first.getvalue() == again.getvalue()
    other = json.loads(json.dumps(figure))
    other["panels"][0]["lines"][0]["reached"][1] *= 1.1
    draw(other, "0", changed)
    assert first.getvalue() != changed.getvalue()


def test_marks_and_lines_are_where_the_points_are(shown, monkeypatch):
    """Lines join ours, marks are alone; a grey panel has its reason and the paper's marks."""
    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **words: drawn.append(figure))
    for name in ("cf22-09", "pearl-10"):
        draw(shown[name], "0", None)
    for figure, name in zip(drawn, ("cf22-09", "pearl-10"), strict=True):
        axes = [each for each in figure.axes if each.get_title()]
        assert [each.get_title() for each in axes] == [
            each["title"] for each in DATA[name]["panels"]
        ]
        for panel, each in zip(shown[name]["panels"], axes, strict=True):
            assert (each.get_xlabel(), each.get_ylabel()) == (panel["x"], panel["y"])
            found = [line for line in each.get_lines() if len(line.get_ydata())]
            wanted = [*panel.get("lines", []), *panel.get("marks", [])]
            for line, series in zip(found, wanted, strict=True):
                assert {*line.get_ydata()} == {y for _, y in series["points"]}
                across = series["points"][0][0] is None
                style = ":" if across else "None" if "how" in series else "-"
                assert line.get_linestyle() == style
            reasons = " ".join(text.get_text().replace("\n", " ") for text in each.texts)
            assert panel.get("no_lines", "") == reasons
            assert (each.get_facecolor()[0] < 1) == ("no_lines" in panel)


def one(**series):
    return {"panels": [{"lines": [{"label": "ours", **series}]}]}


@pytest.mark.parametrize(
    "series, named",
    [
        (dict(row="gae @ {x} @ lut", x=["no case"]), "gae @ no case @ lut"),
        (dict(rows=["gae @ pe @ none"], x=[1]), "gae @ pe @ none"),
        (dict(row="none @ case @ {x}", x=["lut"]), "none @ case @ lut"),
        (dict(run="none/card-{x}", x=[0]), "none/card-0"),
        (dict(curve="none/card-1"), "none/card-1"),
        (dict(row="gae @ pe, k={x}, words of 27 bits @ logic_depth @ beside", x=[1]), "@ beside"),
        (dict(roofline=dict(kind="tree", fanout=2, capacity=4, batch=1, clocks="gae @ a @ b")),
         "gae @ a @ b"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named_in_one_line(series, named):
    with pytest.raises(UsageError, match=re.escape(named)) as error:
        figures.resolved("heppo-99", one(**series))
    assert "\n" not in str(error.value)


def test_a_record_without_a_curve_is_named(tmp_path):
    (tmp_path / "claim").mkdir()
    (tmp_path / "claim/card-0.json").write_text('{"mean_return": 1, "curve": null}')
    with pytest.raises(UsageError, match="curve of 'claim/card-0'"):
        figures.resolved("heppo-99", one(curve="claim/card-0"), runs=tmp_path)


def test_rooflines_by_hand():
    """4-64-2 with the words 4-8-2 and two lanes: 320 multiply-accumulates a clock, as in CF'22's
    Table 2 (1600 DSP blocks of 5 each); a tree of 16 children in five levels."""
    rows = {"m": "64, 32", "c": 1200.0, "t": 287}
    learner = dict(kind="learner", multipliers="m", clocks="c", lanes=2, network=[4, 64, 2])
    found = roofline.series(learner | {"batch": 256}, rows.get)
    assert found["points"] == [[1, 160], [4, 640], [16, 640]]
    assert found["reached"] == [4, 2 * 256 * (3 * 384 + 128) / 1200]
    tree = dict(kind="tree", clocks="t", fanout=16, capacity=2**20, batch=256)
    found = roofline.series(tree, rows.get)
    assert found["points"] == [[0.25, 20], [1, 80], [4, 80]]
    assert found["reached"] == [1, 80 * 256 / 287]


def test_what_was_reached_is_the_use_of_the_multipliers(shown):
    """The row of utilization counts the same products in another way."""
    lines = all_series(shown["cf22-11"], "lines")[:2]
    for line, kind in zip(lines, ("fixed", "float32"), strict=True):
        case = f"4-64-2, words 4-8-2, DP=2, {kind}, B=256"
        use = pages.number(f"learner @ {case} @ mac_utilization")
        assert line["reached"][1] / line["points"][-1][1] == pytest.approx(use, abs=5e-4)


def test_the_command_writes_them(tmp_path, monkeypatch):
    kept = dict(list(DATA.items())[:2])
    monkeypatch.setattr(figures, "figures", lambda: kept)
    monkeypatch.setattr(figures.write, "__defaults__", (tmp_path,))
    done = CliRunner().invoke(app, ["figures"])
    names = [f"{name}.svg" for name in kept] + ["README.md"]
    assert done.exit_code == 0 and done.output.split() == [str(tmp_path / each) for each in names]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    assert CliRunner().invoke(app, ["figures", "--area"]).exit_code != 0
