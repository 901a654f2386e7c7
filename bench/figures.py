"""Pictures of the papers' figures: the papers' points are marks, ours are lines.

``python -m bench figures`` draws each figure of ``bench/figures.json`` into ``docs/figures``. A
figure there has panels; a panel has ``marks``, or ``no_marks`` with the reason, and ``lines``, or
``no_lines`` with the reason: then it is grey. A series of points has one of

- ``y``: numbers that the paper prints; with ``x`` null they hold for the whole axis;
- ``row``: a field of ``bench.pages`` for each x, which stands for ``{x}``, or ``rows``: a list of
  fields; ``over``: a field to divide by, ``scale``: a factor; with ``gaps`` a row without a value
  has no point;
- ``run``: records in ``docs/learning/runs`` for each x, or ``runs``, a list: their mean returns;
- ``curve``: a record, whose steps and returns are the points;
- ``roofline``: a module of ``bench.roofline``.

A mark's ``how`` says where the paper has its points. A picture has its figure's digest.
"""

import json
from hashlib import sha256
from pathlib import Path

from bench import pages, roofline
from bench.panels import draw
from bench.results import FOLDER
from host.checkpoint import atomic_write, write_text
from hw.errors import UsageError

__all__ = ["DATA", "PICTURES", "RUNS", "digest", "figures", "index", "resolved", "write"]

DATA = Path(__file__).parent / "figures.json"
PICTURES = pages.ROOT / "docs" / "figures"
RUNS = pages.ROOT / "docs" / "learning" / "runs"

_INDEX = """\
# The papers' figures

`python -m bench figures` draws them from `bench/figures.json`, `docs/results` and the records of
trainings. Marks are the papers' points: printed in text or tables, or computed by the paper's own
equations; the legend says which. A point that can only be read off a picture is not here. Lines are
ours. A grey panel has nothing of ours, for the reason that it names. The last picture is no
paper's: its marks are other libraries', measured as ours were.
"""


def figures():
    """``{name: figure}`` of bench/figures.json."""
    return json.loads(DATA.read_text(encoding="utf-8"))


def resolved(name, figure, folder=FOLDER, runs=RUNS):
    """``figure`` with numbers in place of fields: each series is ``label``, ``points`` [[x, y]] and
    what else it has. ``folder`` has the rows and ``runs`` the records. UsageError, with the
    figure's name, if one is missing."""
    panels = []
    for panel in figure["panels"]:
        kinds = {
            kind: [_series(name, each, folder, runs) for each in panel[kind]]
            for kind in ("marks", "lines")
            if kind in panel
        }
        panels.append(panel | kinds)
    return figure | {"panels": panels}


def _series(name, series, folder, runs):
    def value(field):
        try:
            found = pages.number(field, folder)
        except KeyError:
            found = None
            if series.get("gaps"):
                raise UsageError(
                    f"{name} must have all its rows, not be without {field!r}"
                ) from None
        if found is None and not series.get("gaps"):
            raise UsageError(f"{name} must have all its rows, not be without {field!r}")
        return found

    def record(key, part):
        path = Path(runs) / f"{key}.json"
        found = json.loads(path.read_text(encoding="utf-8"))[part] if path.exists() else None
        if found is None:
            raise UsageError(f"{name} must have all its records, not be without {part} of {key!r}")
        return found

    def each(one, many):
        return series.get(many) or [series[one].replace("{x}", str(x)) for x in series["x"]]

    shown = {key: series[key] for key in ("label", "how") if key in series}
    if "roofline" in series:
        return shown | roofline.series(series["roofline"], value)
    if "curve" in series:
        return shown | {"points": record(series["curve"], "curve")}
    if "y" in series:
        values = series["y"]
    elif "run" in series or "runs" in series:
        values = [record(key, "mean_return") for key in each("run", "runs")]
    else:
        over = value(series["over"]) if "over" in series else 1
        scale = series.get("scale", 1) / over
        found = [value(field) for field in each("row", "rows")]
        values = [None if each is None else each * scale for each in found]
    places = series["x"] or [None] * len(values)
    points = zip(places, values, strict=True)
    return shown | {"points": [list(point) for point in points if point[1] is not None]}


def digest(shown):
    """SHA-256 of a resolved figure, in hexadecimal; its picture has it as identifier."""
    return sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


def index(data):
    """The text of docs/figures/README.md: each picture of ``data`` with a line."""
    parts = [_INDEX]
    for name, figure in data.items():
        head = f"{figure['paper']}, {figure['figure']}"
        parts.append(f"## {head}\n\n{figure['title']}.\n\n![{head}]({name}.svg)\n")
    return "\n".join(parts)


def write(to=PICTURES):
    """Draws all figures and their page into the folder ``to``; returns the list of paths.
    UsageError if a row or a record is missing, MissingTool without matplotlib."""
    data = figures()
    shown = {name: resolved(name, figure) for name, figure in data.items()}
    to = Path(to)
    to.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, figure in shown.items():
        paths.append(to / f"{name}.svg")
        atomic_write(paths[-1], lambda file, figure=figure: draw(figure, digest(figure), file))
    paths.append(to / "README.md")
    write_text(paths[-1], index(data))
    return paths
