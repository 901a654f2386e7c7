"""usage: page_numbers.py [write]

Numbers in the prose of documents, beside tests/reference/page_numbers.json, which has those of each
page: ``short`` of two digits, ``rows`` that a row of a bench has, and ``others``, each with where
it is from. Prints what differs; `write` keeps it, where nothing of three digits is unexplained.

tests/reference/page_orders.json has a digest of the sequence of all numbers of each page, and of
bench/papers.md: of two that change places, and of one of a single digit, the sets say nothing.
"""

import json
import re
import sys
from hashlib import sha256
from pathlib import Path

from bench.results import FOLDER, kept, names

__all__ = ["LEDGER", "differences", "in_rows", "ledger", "numbers", "order", "orders", "ordered"]
__all__ += ["pages", "prose", "sorted_out"]

ROOT = Path(__file__).parents[1]
LEDGER = Path(__file__).parent / "reference" / "page_numbers.json"
ORDERS = LEDGER.with_name("page_orders.json")

#: Digits from which on a number needs a row or a reason, and from which on it is kept at all.
_EXPLAINED, _KEPT = 3, 2
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
    """The set of numbers of two digits and more in prose, as texts without spaces."""
    found = {f"{whole.replace(' ', '')}{part}" for whole, part in _NUMBER.findall(prose(text))}
    return {each for each in found if _digits(each) >= _KEPT}


def _digits(number):
    return len(number.replace(".", "").lstrip("0"))


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


def sorted_out(text, rows, reasons):
    """``(page, unexplained)``: the entry of a page with ``text`` in the ledger, where ``reasons``
    are ``{number: where it is from}``, and the list of numbers without a row and a reason."""
    entry, unexplained = {"short": [], "rows": [], "others": {}}, []
    for each in sorted(numbers(text), key=lambda number: (float(number), number)):
        if _digits(each) < _EXPLAINED:
            entry["short"].append(each)
        elif each in reasons:
            entry["others"][each] = reasons[each]
        elif f"{float(each):.12g}" in rows:
            entry["rows"].append(each)
        else:
            unexplained.append(each)
    return entry, unexplained


def ordered(root=ROOT):
    """``{name: text}`` of the pages whose ``order`` is kept: ``pages``, and bench/papers.md, of
    which docs/papers.md is printed."""
    return pages(root) | {"bench/papers.md": (root / "bench" / "papers.md").read_text()}


def order(text):
    """A digest of all numbers in the prose of ``text``, of one digit too, one after the other."""
    return sha256(" ".join(re.findall(r"\d+(?:\.\d+)?", prose(text))).encode()).hexdigest()[:16]


def orders():
    """``{page: order}``, read from its file."""
    return json.loads(ORDERS.read_text())


def ledger():
    """``{page: entry}``, read from its file."""
    return json.loads(LEDGER.read_text())


def differences(page, text, rows, known):
    """Lines about numbers of ``page`` that are not as its entry ``known`` has them."""
    entry, unexplained = sorted_out(text, rows, known["others"])
    lines = [f"{page}: {each} is in no row, and has no reason" for each in unexplained]
    for kind in ("short", "rows", "others"):
        was, now = {*known[kind]}, {*entry[kind]}
        lines += [f"{page}: {each} is new ({kind})" for each in sorted(now - was)]
        lines += [f"{page}: {each} is gone ({kind})" for each in sorted(was - now)]
    return lines


def main(words):
    """Prints the differences of all pages, or writes them; exits with 1 if a number has no row and
    no reason."""
    rows, known, found, left = in_rows(), ledger(), {}, []
    for page, text in pages().items():
        before = known.get(page, {"short": [], "rows": [], "others": {}})
        found[page], unexplained = sorted_out(text, rows, before["others"])
        left += unexplained
        print("\n".join(differences(page, text, rows, before)), end="\n" * bool(unexplained))
    was, now = orders(), {page: order(text) for page, text in ordered().items()}
    for page in sorted(page for page in was.keys() | now if was.get(page) != now.get(page)):
        print(f"{page}: its numbers are others, or stand in another order")
    if words == ["write"] and not left:
        ORDERS.write_text(json.dumps(now, indent=1) + "\n")
        LEDGER.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    sys.exit(bool(left))


if __name__ == "__main__":
    main(sys.argv[1:])
