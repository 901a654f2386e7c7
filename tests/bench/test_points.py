"""bench.points and bench.papers: README's rows are of the papers' own case, or say where not."""

import re
from dataclasses import replace
from functools import partial

import pytest

from bench.papers import _made, comparisons, operating_points, papers
from bench.points import COLUMNS, INSIDE, Comparison, Point
from bench.results import Results
from bench.tables import TABLES
from hw.errors import UsageError

SAME = dict(arithmetic="binary32", bits="32", batch="64", sharing="2 lanes", inside=("draw",))
OURS = Point(name="ours", value=3, how="measured", **SAME)
THEIRS = Point(name="theirs", value=2, how="measured", **SAME)
ROW = dict(paper="CF'22", kernel="dqn", what="clocks")
OTHER = dict(arithmetic="fixed", bits="18", batch="512", sharing="1 lane", inside=(), how="formula")


@pytest.fixture(scope="module")
def rows():
    return comparisons(Results.of)


@pytest.mark.parametrize("column", COLUMNS)
def test_a_point_without_a_column_is_refused(column):
    with pytest.raises(UsageError, match=f"^{column} of 'ours' must be given, not missing$"):
        replace(OURS, **{column: None})
    fields = dict(name="ours", value=3, how="measured", **SAME)
    del fields[column]
    with pytest.raises(TypeError, match=column):
        Point(**fields)


@pytest.mark.parametrize(
    "change, text",
    [
        (dict(how="guessed"), "^how must be one of formula, peak, measured, not 'guessed'$"),
        (dict(inside=("rain",)), "^inside must be of draw, .*, not \\('rain',\\)$"),
        (dict(inside="draw"), "^inside must be of draw, .*, not 'draw'$"),
    ],
)
def test_words_of_a_point(change, text):
    with pytest.raises(UsageError, match=text):
        replace(OURS, **change)


def test_equal_points_need_nothing():
    row = Comparison(ours=OURS, theirs=THEIRS, **ROW)
    assert row.nearest is OURS and not row.reasons


@pytest.mark.parametrize("column", COLUMNS)
def test_a_column_that_differs_needs_a_second_value_and_a_reason(column):
    """A second value alone is enough where it is equal; a reason alone never is."""
    ours = replace(OURS, **{column: OTHER[column]})
    with pytest.raises(
        UsageError, match=f"^CF'22 must have a value at its own point, for {column}$"
    ):
        Comparison(ours=ours, theirs=THEIRS, reasons={column: "so it is"}, **ROW)
    assert Comparison(ours=ours, same=OURS, theirs=THEIRS, **ROW).nearest is OURS
    with pytest.raises(UsageError, match=f"^CF'22 must have a reason where {column} differs$"):
        Comparison(ours=ours, same=ours, theirs=THEIRS, **ROW)
    row = Comparison(ours=ours, same=ours, theirs=THEIRS, reasons={column: "so it is"}, **ROW)
    assert row.nearest.unlike(THEIRS) == [column]
    with pytest.raises(UsageError, match=f"^CF'22 must have a reason where {column} is equal$"):
        Comparison(ours=ours, same=OURS, theirs=THEIRS, reasons={column: "so it is"}, **ROW)


@pytest.mark.parametrize("reason", ["", "one two three four five six"])
def test_a_reason_has_five_words_at_most(reason):
    with pytest.raises(UsageError, match="^reason must be of at most 5 words, not '"):
        Comparison(ours=OURS, same=OURS, theirs=replace(THEIRS, bits="16"),
                   reasons={"bits": reason}, **ROW)  # fmt: skip


def test_a_reason_for_no_column():
    with pytest.raises(UsageError, match="^reasons must be of arithmetic, .*colour"):
        Comparison(ours=OURS, theirs=THEIRS, reasons={"colour": "red"}, **ROW)


# -- README's rows


def test_every_paper_has_a_row_with_both_values(rows):
    assert [each.paper for each in rows] == ["CF'22", "PEARL", "HEPPO", "FA3C", "FIXAR"]
    heads, *lines = papers(Results.of)
    assert len(lines) == 5 and all(len(line) == len(heads) for line in lines)
    for each, (paper, _, ours, same, theirs, why, made) in zip(rows, lines, strict=True):
        assert made == each.made
        assert each.same is not None and paper == each.paper
        for cell, point in ((ours, each.ours), (same, each.same), (theirs, each.theirs)):
            assert cell.replace(" ", "").startswith(str(point.value).removesuffix(".0"))
        assert why and "nothing" not in why


def test_a_row_says_of_which_commit_it_is(rows):
    """Of the older of two measurements: FA3C's period takes hours, and is counted rarely."""
    for each in rows:
        commit, day = each.made.split(", ")
        assert re.fullmatch(r"[0-9a-f]{7}\+?", commit) and re.fullmatch(r"2026-\d\d-\d\d", day)
    found = {row["value"]: row["commit"] for row in Results.of("fa3c").rows
             if row["metric"] == "ips" and "FA3C" in (row["reference"] or "")}  # fmt: skip
    assert rows[3].made.split(", ")[0] == found[rows[3].ours.value]
    new, old = dict(commit="b", date="2026-11-30 08:00"), dict(commit="a", date="2026-11-24 02:07")
    assert _made(new, old) == _made(old, new) == "a, 2026-11-24"


def test_figures_that_a_hostile_author_asks_for(rows):
    """The review's: binary32 for CF'22, PEARL's best fanout, HEPPO's kernel with its transfers, a
    theta for each agent of FA3C, FIXAR's timestep with its action."""
    cf22, pearl, heppo, fa3c, fixar = rows
    assert (cf22.ours.value, cf22.same.value, cf22.theirs.value) == (408, 550, 312)
    assert pearl.theirs.value == 2 * 2 * (512 + 20) and pearl.more[0].value == 32 * (512 + 5)
    assert 512 <= pearl.same.value < pearl.theirs.value
    assert pearl.more[1].value == 747
    assert heppo.same.value <= heppo.theirs.value == 64
    assert [each.value for each in heppo.more] == [1.41, 5.22]
    assert fa3c.same.value < fa3c.ours.value and fa3c.theirs.value == 2550
    assert {*fa3c.more[0].inside} == {*INSIDE} - {"draw"}
    assert (fixar.same.value, fixar.more[0].value) == (57_616, 60_726)
    assert fixar.ours.value == 61_121  # of 32 bits, not the 121 546 of 16
    assert fixar.more[0].value < fixar.ours.value < fixar.more[1].value


def test_the_table_of_points_has_every_column(rows):
    heads, *lines = operating_points(Results.of)
    assert len(heads) == 4 + len(COLUMNS) and {*map(len, lines)} == {len(heads)}
    assert len(lines) == sum(3 + len(each.more) for each in rows)
    for line in lines:
        assert all(cell not in (None, "") for cell in line[:-1]), line
    assert TABLES["operating_points"] == (None, operating_points)
    assert isinstance(partial(operating_points, Results.of)().__next__(), list)
