"""``rlfabric report``: a design's resources on a board, as tables, a picture and JSON."""

import io
import json
import sys
import time
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

import boards
from boards.bitstream import routed
from boards.report import PICTURE, REPORT, report
from host.kernels import configure, find_design, identity
from host.kernels.kernel_folder import write
from host.terminal.tables import table
from hw.errors import MissingTool
from hw.estimate import RESOURCES
from hw.extras import needed
from system.disk import user_path

__all__ = ["make", "progress", "show"]

_TITLES = {"lut": "LUT", "ff": "FF", "bram36": "BRAM36", "uram": "URAM", "dsp": "DSP"}


def make(name, board, out, *, levels=3, overwrite=False, library=False, **values):
    """Reports the resources of design ``name`` on ``board``, as yosys maps them: writes report.json
    and report.png to the folder ``out/<board>/<name>``, and returns the report as a dict.

    ``values`` and ``library`` are as for ``host.kernels.generate``; ``levels`` is the number of
    levels of units in the report. Before yosys is started, ``boards.DoesNotFit`` is raised if the
    design's own estimate is too large, and files of another kernel in the folder are removed, or
    raise ValueError unless ``overwrite``, as in ``generate``. Without matplotlib, report.png is not
    written, and a line on stderr says so.
    """
    design, board = find_design(name), boards.get(board, name)
    config = configure(design, board, values, library=library)
    out = user_path(out)
    folder = out / board.name / name
    description = design.describe(config)
    whose = identity(name, board, description)
    write(folder, whose, {}, overwrite=overwrite)
    with progress() as shown:
        result = report(
            name,
            board,
            config,
            work=out / "area",
            levels=levels,
            routed=routed(folder, description),
            progress=shown,
        )
    files = {REPORT: (json.dumps(result, indent=2) + "\n").encode()}
    try:
        files[PICTURE] = _drawn(result, board)
    except MissingTool as missing:  # numbers that took minutes are written all the same
        print(f"rlfabric: {PICTURE} is not drawn: {missing}", file=sys.stderr)
    write(folder, whose, files, overwrite=overwrite)
    return result


@contextmanager
def progress():
    """Shows the present work and its time: on a terminal at once, elsewhere once a minute."""
    begin = shown = time.monotonic()
    console = Console(stderr=True)

    def show(text):
        nonlocal shown
        now = time.monotonic()
        line = f"{int(now - begin) // 60}:{int(now - begin) % 60:02} {text}"
        if console.is_terminal:
            status.update(escape(line))
        elif now - shown > 60:
            shown = now
            print(line, file=sys.stderr, flush=True)

    with console.status("") as status:
        yield show


def show(result, board, folder):
    """Prints the report as tables."""
    board = boards.get(board, result["design"])
    heads = ("unit", "count", *_TITLES.values(), "depth")
    rows = [
        [_indented(row["unit"]), row["count"], *(_text(row[name]) for name in RESOURCES),
         row["depth"]]
        for row in result["units"]
    ]  # fmt: skip
    table(f"{result['design']} as yosys maps it to {result['family']} (estimate)", heads, rows)
    rows = [
        [title, *(_text(part[name]) for part in (result["mapped"], result["estimate"])),
         _text(result["total"][name]), _percent(result["share"][name]),
         *(_percent(region["share"][name]) for region in result["regions"])]
        for name, title in _TITLES.items()
    ]  # fmt: skip
    regions = [f"of region {k}" for k in range(len(result["regions"]))]
    heads = ("resource", "mapped", "own estimate", "part", "share", *regions)
    table(f"{board.title} ({board.part})", heads, rows)
    rows = [[x["master"], x["bank"], x["kind"], x["bytes"]] for x in result["memory"]]
    table(f"memory; the largest buffer takes {result['largest_buffer']} bytes",
          ("master", "bank", "kind", "bytes"), rows)  # fmt: skip
    for operation, clocks in result["clocks"].items():
        print(f"{operation}: {clocks} clocks by formula")
    if result["routed_mhz"] is None:
        print("clocks: not routed")
    for name, mhz in (result["routed_mhz"] or {}).items():
        print(f"clock {name}: {mhz:.1f} MHz routed")
    for line in result["lacks"]:
        print(f"does not fit: {line}")
    if (folder / PICTURE).exists():
        print(folder / PICTURE)


def _indented(path):
    """A unit's own name, indented by its level: whole paths are too long for a terminal."""
    *above, own = path.split(".")
    return "  " * len(above) + own


def _text(number):
    if number is None:
        return "unknown"
    return f"{number:g}" if isinstance(number, float) else str(number)


def _percent(number):
    return "unknown" if number is None else f"{number} %"


def _drawn(result, board):
    """A PNG: bars of the first level below the core, stacked, in percent of the part."""
    matplotlib = needed("matplotlib", "plot", "to draw")
    figures = needed("matplotlib.figure", "plot", "to draw")
    file = io.BytesIO()
    names = [name for name in RESOURCES if result["total"][name]]
    parts = _largest(_pieces(result["units"]), result["total"], names)
    figure = figures.Figure(figsize=(9, 4), layout="constrained")
    axes = figure.add_subplot()
    left = [0.0] * len(names)
    colours = matplotlib.colormaps["tab20"].colors
    for row, colour in zip(parts, colours, strict=False):
        widths = [100 * row[name] / result["total"][name] for name in names]
        axes.barh(
            [_TITLES[name] for name in names], widths, left=left, label=row["unit"], color=colour
        )
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_xlabel(f"percent of {board.part}")
    axes.set_title(f"{result['design']} on {board.title}: yosys estimate")
    axes.invert_yaxis()
    figure.legend(fontsize="small", loc="outside right upper")
    figure.savefig(file, format="png", dpi=120)
    return file.getvalue()


def _pieces(units):
    """The units directly inside the core, and those beside the core or beside a unit around it;
    each has its own name without its path."""
    paths = {row["unit"] for row in units}
    core = next((path for path in sorted(paths, key=len) if path.endswith(".core")), None)
    cut = {core} if core else set()
    while any("." in path for path in cut):
        larger = {path.rpartition(".")[0] for path in cut if "." in path}
        if larger <= cut:
            break
        cut |= larger
    cut |= {next(iter(sorted(paths, key=len)))}
    return [
        {**row, "unit": row["unit"].rpartition(".")[2]}
        for row in units
        if row["unit"] not in cut and row["unit"].rpartition(".")[0] in cut
    ]


def _largest(pieces, total, names, most=19):
    """The ``most`` pieces with the largest share of any resource, largest first, and the others as
    one piece: a reader can tell 20 colours apart."""
    pieces = sorted(pieces, key=lambda row: -max(row[name] / total[name] for name in names))
    rest = pieces[most:]
    if rest:
        others = {name: sum(row[name] for row in rest) for name in RESOURCES}
        pieces = [*pieces[:most], {"unit": f"{len(rest)} others", **others}]
    return pieces
