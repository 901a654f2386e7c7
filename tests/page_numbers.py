"""Numbers in the prose of documents: which there are, and which of them a row of a bench has."""

import json
import re
from pathlib import Path

from bench.results import FOLDER, kept, names

__all__ = ["LEDGER", "in_rows", "ledger", "numbers", "pages", "prose", "unknown"]

ROOT = Path(__file__).parents[1]
#: ``{page: {number: where it is from}}`` of numbers in prose that no row has.
LEDGER = Path(__file__).parent / "reference" / "page_numbers.json"

#: Digits from which on a number is looked up; shorter ones are counts, ranges, names.
_DIGITS = 3
#: What is printed from rows, code, names and link targets: other tests hold these.
_APART = re.compile(
    r"<!-- (table|rows|claims): .*?<!-- (?:end of \1|\1: end) -->|<!-- value: .*?<!-- end -->"
    r"|```.*?```|`[^`]*`|\]\([^)]*\)|https?://\S+",
    re.S,
)
#: Not inside of a word, a date, a version of more than two parts or a larger number.
_NUMBER = re.compile(
    r"(?<![\w.,^#-])(?<!\d )(\d{1,3}(?: \d{3})+|\d+)(\.\d+)?(?![\w^-]|\.\d| \d{3}\b)"
)


def pages(root=ROOT):
    """``{name: text}`` of the documents that people write."""
    paths = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    paths += sorted((root / "docs" / "results").glob("*.md"))
    # docs/papers.md is printed as a whole, docs/bench.md too.
    printed = {"papers.md", "bench.md"}
    return {
        path.relative_to(root).as_posix(): path.read_text()
        for path in paths
        if path.name not in printed
    }


def prose(text):
    """``text`` without what is printed, code and link targets."""
    return _APART.sub(" ", text)


def numbers(text):
    """The set of numbers of three digits and more in prose, as texts without spaces."""
    found = (f"{whole.replace(' ', '')}{part}" for whole, part in _NUMBER.findall(prose(text)))
    return {each for each in found if len(each.replace(".", "").lstrip("0")) >= _DIGITS}


def in_rows(folder=FOLDER):
    """The set of numbers of all rows: values, their references' values, and those in their words,
    as texts."""
    found = set()
    for name in names(folder):
        for row in (row for each in kept(name, folder) for row in each["rows"]):
            for value in (row["value"], row["reference_value"]):
                if isinstance(value, int | float):
                    found.add(f"{value:.12g}")
            words = f"{row['case']} {row['reference']} {row['source']} {row['value']}"
            found |= {f"{float(each):.12g}" for each in re.findall(r"\d+(?:\.\d+)?", words)}
    return found


def unknown(text, rows, ledger):
    """The list of numbers in ``text`` that neither ``rows`` nor ``ledger`` has."""
    return sorted(
        (
            each
            for each in numbers(text)
            if f"{float(each):.12g}" not in rows and each not in ledger
        ),
        key=float,
    )


def ledger():
    """The ledger, read from its file."""
    return json.loads(LEDGER.read_text())
