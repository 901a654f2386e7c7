"""What is printed from ``docs/results/*.json``: a page a bench, their list, and README's tables.

``python -m bench --print`` (`make tables`) writes all of it; nothing of it is written by hand.
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
# What `python -m bench {name}` measured

Printed by `make tables` from [{name}.json]({name}.json). Areas are yosys estimates; times in
seconds are of a machine shared with other work: read their ratios.
"""
_INDEX = """\
# What the benches measured

`python -m bench NAME --write` measures one of them (`--area` maps it too) and keeps its rows in
`docs/results/NAME.json`, with the commit and the date; rows that it did not measure stay. `make
tables` prints these pages and README's tables from the files.

| bench | rows | first measured | last measured | at commit |
| --- | ---: | --- | --- | --- |
"""
_TABLE = re.compile(r"(<!-- table: (\w+) -->\n)(.*?)(<!-- end of table -->)", re.S)


def pages(folder=FOLDER, readme=None):
    """``{path below ROOT: text}`` of all that is printed from the files in ``folder``.

    ``readme``: the text that has README's tables between its marks; None is README.md's own.
    KeyError where a table's row is missing, ValueError for a table that there is not.
    """
    readme = (ROOT / "README.md").read_text() if readme is None else readme
    found = {f"docs/results/{name}.md": _page(name, folder) for name in names(folder)}
    benches = [line(_summary(name, folder)) for name in names(folder)]
    found["docs/bench.md"] = _INDEX + "".join(f"{each}\n" for each in benches)
    found["README.md"] = _TABLE.sub(lambda match: _filled(match, folder), readme)
    return found


def write(folder=FOLDER, root=ROOT):
    """Write ``pages``; the paths of those that were otherwise."""
    changed = []
    for name, text in pages(folder).items():
        path = Path(root) / name
        if not path.exists() or path.read_text() != text:
            write_text(path, text)
            changed.append(name)
    return changed


def _filled(match, folder):
    begin, name, _, end = match.groups()
    if name not in TABLES:
        raise UsageError(f"table must be one of {', '.join(TABLES)}, not {name!r}")
    return begin + "\n".join(["", *lines(name, folder), "", end])


def _page(name, folder):
    text = [_PAGE.format(name=name)]
    for each in kept(name, folder):
        text += [f"Measured {each['date']} at commit {each['commit']}:", ""]
        text += [line(_HEADS), line("---:" if "value" in head else "---" for head in _HEADS)]
        text += [line(found[head] for head in _HEADS) for found in each["rows"]]
        text.append("")
    return "\n".join(text)


def _summary(name, folder):
    measured = kept(name, folder)
    dates = sorted(each["date"] for each in measured)
    commits = ", ".join(dict.fromkeys(str(each["commit"]) for each in measured))
    count = sum(len(each["rows"]) for each in measured)
    return [f"[{name}](results/{name}.md)", count, dates[0], dates[-1], commits]
