"""Numbers that only fall: ``scripts/ratchets.py`` counts them."""

import json

import pytest

from scripts.ratchets import FILE, FOLDERS, hits, measure, risen

MEND = "say it plainly, or join the file; what has fallen is kept by `scripts/ratchets.py write`"


def test_no_number_rises():
    assert risen(json.loads(FILE.read_text()), measure()) == [], MEND


@pytest.mark.parametrize(
    "text, count",
    [
        ("The read is delayed until the word is valid; ties prefer the smaller group.", 0),
        ("The clock by which the one must have left that is so many before.", 2),
        ("Widths are those of the config.", 1),
        ("Sum of what the rows give, with what is read.", 2),
        ("What it takes: clocks.", 1),
        ("A word of which each bit is set; there are two of them beside it.", 4),
        ("As many words as the row has, so many rows.", 0),
        ("It stands behind the queue alone.", 2),
    ],
)
def test_dialect_is_counted(text, count):
    assert hits(text) == count


def test_each_kind_is_seen(tmp_path):
    """A project with nothing, and one that has each of them once."""
    for name in FOLDERS:
        (tmp_path / name).mkdir()
    for folder in ("hw/a", "hw/b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "config.py").write_text('"""Config."""\n' + "x = 1\n" * 60)
    (tmp_path / "tests/test_x.py").write_text("def test_a(): ...\n\n\ndef test_b(): ...\n" * 30)
    before = measure(tmp_path)
    assert before["lines a test: tests"] == 2 and before["same names: hw"] == 1
    del before["lines a test: tests"], before["same names: hw"]
    assert not any(before.values())
    before["lines a test: tests"] = 2.0
    (tmp_path / "hw/a/config.py").write_text('"""Those of it."""\n' + "getattr(x, 'y')\n" * 60)
    (tmp_path / "hw/b/small.py").write_text("x = 1\n")
    (tmp_path / "tests/test_x.py").write_text("def test_a(): ...\n\n\n" * 30 + "x = 1\n" * 60)
    assert risen(before, measure(tmp_path)) == [
        "words: hw: 0 -> 1",
        "small files: hw: 0 -> 1",
        "same names: hw: 0 -> 1",
        "getattr: hw: 0 -> 60",
        "lines a test: tests: 2.0 -> 5.0",
    ]
