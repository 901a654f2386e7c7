"""docs/papers.md: each claim has a value, a place, ours, what shows it, and a verdict."""

import re
from pathlib import Path

import pytest

from bench import BENCHES, figures, pages

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text()
TEXT = (ROOT / "bench" / "papers.md").read_text()
#: Papers, by the letter of their claims, and how many there are.
CLAIMS = {"C": 37, "P": 46, "H": 29, "X": 34, "A": 35}
VERDICTS = {
    "as the paper",
    "better",
    "slower",
    "other way",
    "contradicts",
    "partly",
    "missing",
    "not here",
}


def lines(text, begin):
    """The cells of the table lines that begin with ``begin``, an expression."""
    found = re.findall(rf"^\| {begin}.*\|$", text, re.M)
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in found]


ROWS = {cells[0]: cells for cells in lines(PAGE, r"[CPHXA]\d+ ")}


def test_there_is_a_row_for_every_claim():
    wanted = [f"{letter}{k}" for letter, count in CLAIMS.items() for k in range(1, count + 1)]
    assert list(ROWS) == wanted and len(ROWS) >= 180
    assert len(lines(PAGE, r"[CPHXA]\d+ ")) == len(ROWS)


@pytest.mark.parametrize("number", ROWS)
def test_a_row_has_all_its_cells(number):
    cells = ROWS[number]
    assert len(cells) == 6 and all(cells), cells
    assert re.split(r"[;,]", cells[-1])[0] in VERDICTS, cells[-1]
    if cells[-1] in ("missing", "not here"):
        assert not re.search(r"\d", cells[3]), "what is missing has no figure of ours"
    assert "{" not in "".join(cells)


@pytest.mark.parametrize("number", ROWS)
def test_what_shows_it_is_there(number):
    """Files and folders exist, benches are ours; what a bench shows has a number from a row."""
    *_, where, _ = ROWS[number]
    for path in re.findall(r"(?:bench|boards|docs|host|hw|rlfabric|tests)/[\w./]+", where):
        assert (ROOT / path).exists(), path
    named = set(re.findall(r"\bbench (\w+)", where))
    assert named <= {*BENCHES}
    (row,) = lines(TEXT, f"{number} ")
    taken = {field.split("@")[0].strip() for field in re.findall(r"\{([^{}@]+@[^{}]+)\}", row[3])}
    assert taken <= named | {"learner", "replay", "compose", "fa3c"} or taken <= named


@pytest.mark.parametrize("number", ROWS)
def test_our_numbers_are_of_rows(number):
    """Of five digits, or with a point: such a figure of ours is printed, not typed."""
    (row,) = lines(TEXT, f"{number} ")
    typed = re.sub(r"\{[^{}]+\}|`[^`]*`|\]\([^)]*\)", "", row[3])
    found = set(re.findall(r"(?<![\w.])\d+\.\d+|\d{5,}|\d+ \d{3}\b", typed))
    assert found <= TYPED.get(number, set()), found


#: Numbers of ours that no bench measures, and why they may be typed.
TYPED = {
    "C25": {"7.4"},  # MB of the blocks beside it
    "A34": {"0.75"},  # beats a clock of the memory
    "A31": {"0.59", "50 000"},  # steps, docs/learning
    "X7": {"11.4"},  # a bound, worked out in docs/fixar.md
    "X21": {"100 000"},  # steps, docs/learning
    "X24": {"100 000"},
}


def test_the_map_leads_from_every_figure():
    """Paper, figure, page or none, command or none, pictures; the commands are in the list below,
    and every picture is in the map."""
    rows = [cells for cells in lines(PAGE, r"(?:CF'22|PEARL|HEPPO|FIXAR|FA3C) \| (?:Fig|Table)")]
    assert len(rows) >= 25
    listed = {cells[0].strip("`") for cells in lines(PAGE, "`python -m bench")}
    drawn = re.findall(r"\]\(figures/([\w-]+)\.svg\)", " ".join(cells[4] for cells in rows))
    assert drawn == sorted(drawn, key=[*figures.figures()].index) and len(drawn) == 23
    for _, figure, page, command, picture in rows:
        assert page and command and picture, figure
        if command.startswith("bench "):
            assert f"python -m {command.removesuffix(' --area')}" in listed, command


def test_the_page_is_printed():
    assert pages.pages()["docs/papers.md"] == PAGE
    for wrong in (PAGE.replace("550", "551", 1), PAGE.replace("181 ", "182 ", 1) + " "):
        assert pages.pages()["docs/papers.md"] != wrong


def test_minutes_of_a_row_are_those_of_its_command():
    listed = {cells[0].strip("`"): cells[1:] for cells in lines(PAGE, "`python -m bench")}
    for number, cells in ROWS.items():
        for name, area, minutes in re.findall(r"\bbench (\w+)( --area)?(?:, (\d+) min)?", cells[4]):
            assert minutes == listed[f"python -m bench {name}"][bool(area)], number
