"""README stays short, no fact stands in two documents, CITATION.cff can be read, and the walk
through a step of dqn names what exists."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
(VERSION,) = re.findall(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.M)

#: Sentences of so many words stand in one place.
LONG = 12


def documents():
    """The documents that persons write. Pages of single claims are printed by one program."""
    pages = [path for path in ROOT.glob("docs/**/*.md") if path.parent.name != "learning"]
    return sorted([*ROOT.glob("*.md"), *pages, ROOT / "docs" / "learning" / "README.md"])


def sentences(text):
    """Sentences of a document's prose as lists of words, without tables, code and link targets."""
    text = re.sub(r"```.*?```|<!--.*?-->|^\|.*?$", "\n\n", text, flags=re.S | re.M)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    for paragraph in re.split(r"\n\s*\n|^#.*$|^\s*(?:[-*]|\d+\.) ", text, flags=re.M):
        for sentence in re.split(r"[.!?:;](?=\s|$)", paragraph):
            yield re.findall(r"[\w'+*/-]+", sentence.lower())


def repeated(texts):
    """``{sentence: documents}`` of the long sentences that stand more than once in ``texts``."""
    found = defaultdict(list)
    for name, text in texts.items():
        for words in sentences(text):
            if len(words) >= LONG:
                found[" ".join(words)].append(name)
    return {sentence: names for sentence, names in found.items() if len(names) > 1}


def test_no_long_sentence_stands_twice():
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in documents()}
    assert len(texts) > 20
    assert not repeated(texts)


@pytest.mark.parametrize(
    "other, found",
    [
        ("A [tree](b.md) is read, changed and written in every clock\nby each of its levels.", 1),
        ("- A tree is read, changed and written in every clock by each of its levels: so", 1),
        ("A tree is read, changed and written in every clock by each of its `levels`", 1),
        ("A tree is read, changed and written in every clock by each of its memories.", 0),
        ("| A tree is read, changed and written in every clock by each of its levels. |", 0),
        ("```\nA tree is read, changed and written in every clock by each of its levels.\n```", 0),
    ],
)
def test_the_check_of_repetition_itself(other, found):
    one = "Short. A tree is read, changed and written in every clock by each of its levels. Short."
    assert len(repeated({"one": one, "other": other})) == found


def test_readme_is_short():
    """Rows of printed tables may be wider."""
    lines = README.splitlines()
    assert len(lines) <= 150
    printed = re.findall(r"<!-- table: .*?<!-- end of table -->", README, re.S)
    rows = {line for table in printed for line in table.splitlines()}
    assert not [line for line in lines if len(line) > 160 and line not in rows]


def test_links_lead_somewhere():
    """A file, and in a Markdown file the heading behind the #."""
    for path in documents():
        text = re.sub(r"```.*?```", "", path.read_text(), flags=re.S)
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)", text):
            to = (path.parent / target).resolve() if target else path
            assert to.exists(), f"{path.name} must link to a file, not to {target}"
            if anchor:
                assert anchor in anchors(to.read_text()), f"{path.name}: {target}#{anchor}"


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_citation():
    """The repository, and the five papers with their authors."""
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert found["cff-version"] == "1.2.0" and found["version"] == VERSION
    assert {"message", "title", "authors", "license", "abstract"} <= set(found)
    papers = found["references"]
    assert len(papers) == 5
    for paper in papers:
        assert {"type", "title", "authors", "year"} <= set(paper)
        assert all({"family-names", "given-names"} <= set(author) for author in paper["authors"])
    assert f"## {VERSION}" in (ROOT / "CHANGELOG.md").read_text()


def stops(text):
    """``(files, names)`` of each row of the tables of docs/reading_dqn.md."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 4 and cells[1].isdigit():
            yield cells[2], [re.findall(r"`([^`]+)`", cell) for cell in cells[2:4]]


def test_every_file_of_the_host_is_in_its_page():
    """Once, in the row of its folder."""
    found, folder = [], None
    for line in (ROOT / "docs/host.md").read_text().splitlines():
        cells = [re.findall(r"`([^`]+)`", cell) for cell in line.split("|")]
        if len(cells) == 5:
            folder = cells[1][0] if cells[1] else folder
            found += [f"{folder}/{name}.py" for name in cells[2]]
    files = [
        path for name in ("host", "system", "rlfabric") for path in ROOT.glob(f"{name}/**/*.py")
    ]
    own = {path.relative_to(ROOT).as_posix() for path in files if defines(path)}
    assert sorted(found) == sorted(own)


def defines(path):
    """Whether a file has more than a docstring."""
    return path.name != "__init__.py" or len(ast.parse(path.read_text()).body) > 1


def defined(tree):
    """``NAME`` and ``CLASS.NAME`` of all that a module assigns or defines."""
    for node in tree.body:
        targets = getattr(node, "targets", [node])
        names = [getattr(each, "name", getattr(each, "id", None)) for each in targets]
        yield from filter(None, names)
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{name}" for name in defined(node))


def test_every_stop_of_the_walk_is_there():
    """Each file of docs/reading_dqn.md, and each name in one of the files of its row, or of the row
    that the cell refers to."""
    text, seen = (ROOT / "docs/reading_dqn.md").read_text(), {}
    rows = list(stops(text))
    assert len(rows) >= 25
    for number, (_, (files, names)) in enumerate(rows, 1):
        found = [name for file in files for name in defined(ast.parse((ROOT / file).read_text()))]
        seen[number] = found
        for name in names:
            assert name in found or name in seen[1], f"stop {number}: {name}"
    rest = text.partition("## Back")[2]
    for name in re.findall(r"`([A-Z]\w+\.\w+)`", rest):
        assert any(name in found for found in seen.values()), name
    for file in re.findall(r"`(\w+/[\w/]+\.py)`", text):
        assert (ROOT / file).is_file(), file
