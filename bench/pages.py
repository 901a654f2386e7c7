"""Prints the tables of README and of docs/results, and docs/papers.md, from the kept rows.

A document has marks around each table, around all rows of a bench, and around single numbers.
``python -m bench --print`` (`make tables`) prints the text between the marks. People write the text
around them. The text of docs/papers.md is in ``bench/papers.md``, where fields stand for numbers::

    {bench @ case @ metric}                    the value of the latest such row
    {bench @ case @ metric @ beside}           its reference's value
    {bench @ case @ metric @ of CF'22}         of a row whose reference begins so
    {bench @ case @ metric @ from Verilog}     of a row whose source has this part

The mark of a number has the same words: ``<!-- value: bench @ case @ metric -->432<!-- end -->``.
"""

import re
from pathlib import Path

from bench.markdown import line, shown
from bench.results import FOLDER, Results, kept, names
from bench.tables import TABLES, lines
from host.checkpoint import write_text
from hw.errors import UsageError

__all__ = ["ROOT", "filled", "number", "pages", "write"]

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
measure stay. `make tables` prints the tables of README and of these pages from the files, and draws
[the papers' figures](figures/README.md), as `python -m bench figures` does.

`python -m bench solve` trains until tasks are solved, here and by other libraries, for hours. It
keeps a record of each seed in `docs/results/solve`, and goes on where it ended; `--only` and
`--seeds` choose, `--limit-s` bounds a seed, `--state` names another folder.

`python -m bench.area_fit ecp5 --write` fits the rows of `hw/area.json`, from which estimates are
made, to maps of single units (`bench/area_units.py`) and small kernels (`bench/area_kernels.py`),
and prints both; `xcup` for UltraScale+. It takes an hour. Maps are kept in `build/area`, and their
counts in `tests/reference/area_maps.json`, from which `--recorded` fits the same rows in seconds.

| bench | rows | first measured | last measured | at commit |
| --- | ---: | --- | --- | --- |
"""
#: The page of the papers' claims, and its text.
_CLAIMS, _CLAIMS_TEXT = "docs/papers.md", Path(__file__).parent / "papers.md"
_VALUE = re.compile(r"(<!-- value: (.*?) -->).*?(<!-- end -->)", re.S)
_FIELD = re.compile(r"\{([^{}@]+@[^{}]+)\}")
_MARKED = re.compile(r"(<!-- (table|rows): (\w+) -->\n)(.*?)(<!-- end of \2 -->)", re.S)


def pages(folder=FOLDER, texts=None):
    """``{path below ROOT: text}`` of every document with text that is printed from ``folder``.

    ``texts``: ``{path: text}`` of the documents with marks; None: README.md and the pages of docs
    and of docs/results as they are. A bench without a page gets one. KeyError if a row is missing,
    ValueError if a mark names no table.
    """
    claims = (
        {}
        if texts is not None
        else {_CLAIMS: filled(_CLAIMS_TEXT.read_text(encoding="utf-8"), folder)}
    )
    texts = dict(_marked() if texts is None else texts) | claims
    for name in names(folder):
        texts.setdefault(f"docs/results/{name}.md", _PAGE.format(name=name))
    found = {
        path: _VALUE.sub(
            lambda match: match[1] + _number(match[2], folder) + match[3],
            _MARKED.sub(lambda match: _filled(match, folder), text),
        )
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
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_text(path, text)
            changed.append(name)
    return changed


def filled(text, folder=FOLDER):
    """``text`` with the numbers of rows in ``folder`` in place of its fields; KeyError if a row is
    missing, UsageError for a field of another form."""
    return _FIELD.sub(lambda match: _number(match[1], folder), text)


def number(field, folder=FOLDER):
    """The value of a row in ``folder``, or its reference's, that ``field`` names, such as
    ``gae @ pe, k=2 @ lut @ of HEPPO``; errors as ``filled``."""
    bench, *which = (part.strip() for part in field.split("@"))
    case, metric, *rest = which if len(which) > 1 else (None, None)
    asked = {"of": None, "from": ""}
    for part in rest:
        kind, _, text = part.partition(" ")
        if part != "beside" and not (kind in asked and text):
            raise UsageError(f"field must end with beside, of ... or from ..., not {part!r}")
        asked[kind] = text
    if bench not in names(folder) or not metric:
        raise UsageError(f"field must be bench @ case @ metric ..., not {field!r}")
    rows = Results.of(bench, folder)
    row = rows.row(case, metric, reference=asked["of"], source=asked["from"])
    return row["reference_value" if "beside" in asked else "value"]


def _number(field, folder):
    return shown(number(field, folder))


def _marked():
    paths = [ROOT / "README.md", *sorted(FOLDER.parent.glob("*.md")), *sorted(FOLDER.glob("*.md"))]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


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
