"""Prints the tables of README and of docs/results from ``docs/results/*.json``.

A document has marks around each table, and around all rows of a bench. ``python -m bench --print``
(`make tables`) prints the text between the marks. People write the text around them.
"""

import re
from pathlib import Path

from bench.markdown import line
from bench.results import FOLDER, kept, names
from bench.tables import TABLES, lines
from host.checkpoint import write_text
from hw.errors import UsageError

__all__ = ["ROOT", "pages", "write"]

ROOT = FOLDER.parents[1]

_HEADS = ("case", "metric", "value", "unit", "reference", "reference_value", "source")
_PAGE = """\
# `python -m bench {name}`

<!-- rows: {name} -->
<!-- end of rows -->
"""
_INDEX = """\
# What the benches measured

`python -m bench NAME --write` measures one bench (with `--area` it also maps the kernels) and keeps
the rows in `docs/results/NAME.json`, with the commit and the date. Rows that this run did not
measure stay. `make tables` prints the tables of README and of these pages from the files.

| bench | rows | first measured | last measured | at commit |
| --- | ---: | --- | --- | --- |
"""
_MARKED = re.compile(r"(<!-- (table|rows): (\w+) -->\n)(.*?)(<!-- end of \2 -->)", re.S)


def pages(folder=FOLDER, texts=None):
    """``{path below ROOT: text}`` of every document with text that is printed from ``folder``.

    ``texts``: ``{path: text}`` of the documents with marks; None: README.md and the pages of
    docs/results as they are. A bench without a page gets one. KeyError if a row of a table is
    missing, ValueError if a mark names no table.
    """
    texts = dict(_marked() if texts is None else texts)
    for name in names(folder):
        texts.setdefault(f"docs/results/{name}.md", _PAGE.format(name=name))
    found = {
        path: _MARKED.sub(lambda match: _filled(match, folder), text)
        for path, text in texts.items()
    }
    benches = [line(_summary(name, folder)) for name in names(folder)]
    found["docs/bench.md"] = _INDEX + "".join(f"{each}\n" for each in benches)
    return found


def write(folder=FOLDER, root=ROOT):
    """Writes the documents of ``pages`` below ``root``; returns the list of paths of those whose
    text has changed."""
    changed = []
    for name, text in pages(folder).items():
        path = Path(root) / name
        if not path.exists() or path.read_text() != text:
            write_text(path, text)
            changed.append(name)
    return changed


def _marked():
    paths = [ROOT / "README.md", *sorted(FOLDER.glob("*.md"))]
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}


def _filled(match, folder):
    begin, kind, name, _, end = match.groups()
    if kind == "rows":
        return begin + "\n".join([*_rows(name, folder), "", end])
    if name not in TABLES:
        raise UsageError(f"table must be one of {', '.join(TABLES)}, not {name!r}")
    return begin + "\n".join(["", *lines(name, folder), "", end])


def _rows(name, folder):
    for each in kept(name, folder):
        yield from ("", f"Measured {each['date']} at commit {each['commit']}:", "")
        yield line(_HEADS)
        yield line("---:" if "value" in head else "---" for head in _HEADS)
        yield from (line(found[head] for head in _HEADS) for found in each["rows"])


def _summary(name, folder):
    measured = kept(name, folder)
    dates = sorted(each["date"] for each in measured)
    commits = ", ".join(dict.fromkeys(str(each["commit"]) for each in measured))
    count = sum(len(each["rows"]) for each in measured)
    return [f"[{name}](results/{name}.md)", count, dates[0], dates[-1], commits]
