"""The table of areas and its reader: what a row gives, what is refused; all rows are used."""

import ast
import json
import re
from pathlib import Path

import pytest

import hw.area
from hw.area import area
from hw.errors import UsageError
from hw.estimate import RESOURCES, Estimate, times, together

ROOT = Path(__file__).parents[1]
TABLE = json.loads((ROOT / "hw" / "area.json").read_text())

ROWS = {
    "known": {
        "xcup": {
            "lut": {"": 10, "width": "7/3", "count": "1/2"},
            "ff": {"width": 2},
            "bram36": {"": "1/2", "count": "1/2"},
        },
        "ecp5": {"lut": {"": 20, "others": 3}, "dsp": {"": 4}},
    },
    "unknown": {"xcup": {"lut": {"": 1}, "ff": {"width": -1}}},
}


@pytest.fixture
def rows(monkeypatch, tmp_path):
    """``ROWS`` is the table."""
    file = tmp_path / "area.json"
    file.write_text(json.dumps(ROWS))
    monkeypatch.setattr(hw.area, "_ROWS", hw.area._read(file))
    area.cache_clear()
    yield
    area.cache_clear()


@pytest.mark.parametrize(
    "widths, lut, bram36",
    [
        ((0, 0), 10, 0.5),
        ((1, 1), 12, 1),  # 2 + 5/6, not 2 + 0
        ((1, 2), 13, 1.5),
        ((2, 0), 14, 0.5),
        ((3, 3), 18, 2),
    ],
)
def test_a_count_is_the_exact_sum_rounded_down(rows, widths, lut, bram36):
    found = area("known", width=widths[0], count=widths[1], others=1)
    assert found == Estimate(
        lut=lut, ff=2 * widths[0], bram36=bram36, uram=0, dsp=0, ecp5=(23, 0, 0, 0, 4)
    )
    assert type(found.bram36) is (float if bram36 % 1 else int)


@pytest.mark.parametrize(
    "unit, widths, message",
    [
        ("other", {}, "unit must be a row of area.json, not 'other'"),
        ("known", dict(width=1, count=1), "width others must be given for the unit known"),
        ("unknown", {}, "width width must be given for the unit unknown"),
        ("unknown", dict(width=1, depth=2), r"width depth must be one of \['width'\]"),
    ],
)
def test_names_that_a_row_lacks_are_refused(rows, unit, widths, message):
    with pytest.raises(UsageError, match=f"^{message}$"):
        area(unit, **widths)


def test_an_unknown_ecp5_makes_the_sum_unknown(rows):
    known, unknown = area("known", width=3, count=1, others=2), area("unknown", width=4)
    assert known.of("ecp5").resources == dict(zip(RESOURCES, (26, 0, 0, 0, 4), strict=True))
    assert unknown.ecp5 is None and set(unknown.of("ecp5").resources.values()) == {None}
    both = together([known, times(2, unknown)])
    assert both.ecp5 is None and (both.lut, both.ff) == (19, -2) == (both.of("xcup").lut, both.ff)
    assert together([times(3, known), times(0, unknown)]).ecp5 == (78, 0, 0, 0, 12)
    assert times(2, known, known).bram36 == 4 and together([]).ecp5 == (0,) * 5
    with pytest.raises(UsageError, match="^family must be xcup or ecp5, not 'ice40'$"):
        known.of("ice40")


def test_the_tables_rows_name_families_and_resources():
    assert list(TABLE) == sorted(TABLE)
    for unit, families in TABLE.items():
        assert "xcup" in families and families.keys() <= {"xcup", "ecp5"}, unit
        for row in families.values():
            assert row.keys() <= set(RESOURCES), unit
            for name, each in ((*pair,) for linear in row.values() for pair in linear.items()):
                assert re.fullmatch(r"[a-z_0-9]*", name), unit
                assert isinstance(each, int) or re.fullmatch(r"-?\d+/\d+", each), unit


def _patterns(source):
    """Patterns of the rows that ``source`` asks for."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.escape(node.value)
        elif isinstance(node, ast.JoinedStr):
            yield "".join(
                re.escape(each.value) if isinstance(each, ast.Constant) else r"\w+"
                for each in node.values
            )


def test_each_row_is_asked_for():
    sources = [path.read_text() for path in (ROOT / "hw").rglob("*.py")]
    asked = {each for source in sources if "area(" in source for each in _patterns(source)}
    left = {row for row in TABLE if not any(re.fullmatch(each, row) for each in asked)}
    assert not left


def test_a_units_folder_begins_its_rows():
    folders = {".".join(path.relative_to(ROOT / "hw").parts) for path in (ROOT / "hw").rglob("*/")}
    for row in TABLE:
        parts = row.split(".")
        assert any(".".join(parts[:k]) in folders for k in range(1, len(parts))), row
