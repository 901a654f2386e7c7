"""``rlfabric report``: what a design takes of a board, as a table, a picture and JSON."""

import json
from pathlib import Path

import boards
from boards.bitstream import routed
from boards.report import RESOURCES, report
from host.generate import configure, find_design
from host.listing import table

__all__ = ["make", "show"]

_TITLES = {"lut": "LUT", "ff": "FF", "bram36": "BRAM36", "uram": "URAM", "dsp": "DSP"}


def make(name, board, out, *, levels=3, **values):
    """The report of design ``name`` on ``board`` with config ``values`` (as ``generate``), written
    to ``report.json`` and ``report.png`` under ``out/<board>/<name>``; the dict of it.

    ``boards.DoesNotFit``, before any tool is started, where the design's own estimate is too large.
    """
    design, board = find_design(name), boards.get(board)
    config = configure(design, board, values)
    folder = Path(out) / board.name / name
    folder.mkdir(parents=True, exist_ok=True)
    description = design.describe(config)
    result = report(
        name,
        board,
        config,
        work=Path(out) / "area",
        levels=levels,
        routed=routed(folder, description),
    )
    (folder / "report.json").write_text(json.dumps(result, indent=2) + "\n")
    _draw(result, board, folder / "report.png")
    return result


def show(result, board, folder):
    """Tables on the terminal."""
    board = boards.get(board)
    heads = ("unit", "count", *_TITLES.values(), "depth")
    rows = [
        [row["unit"], row["count"], *(_text(row[name]) for name in RESOURCES), row["depth"]]
        for row in result["units"]
    ]
    table(f"{result['design']} as yosys maps it to {board.family} (estimate)", heads, rows)
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
    if result["routed_mhz"] is None:
        print("clocks: not routed")
    for name, mhz in (result["routed_mhz"] or {}).items():
        print(f"clock {name}: {mhz:.1f} MHz routed")
    for line in result["lacks"]:
        print(f"does not fit: {line}")
    print(folder / "report.png")


def _text(number):
    if number is None:
        return "unknown"
    return f"{number:g}" if isinstance(number, float) else str(number)


def _percent(number):
    return "unknown" if number is None else f"{number} %"


def _draw(result, board, path):
    """Bars of the first level below the core, stacked, in percent of the part."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # slow: only where it is drawn
    from matplotlib.figure import Figure

    names = [name for name in RESOURCES if result["total"][name]]
    core = f"{result['design']}.core"
    parts = [
        row for row in result["units"]
        if row["unit"].rpartition(".")[0] in (result["design"], core) and row["unit"] != core
    ]  # fmt: skip
    parts.sort(key=lambda row: -row["lut"])
    figure = Figure(figsize=(8, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    left = [0.0] * len(names)
    for row in parts:
        widths = [100 * row[name] / result["total"][name] for name in names]
        label = row["unit"].rpartition(".")[2]
        axes.barh([_TITLES[name] for name in names], widths, left=left, label=label)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_xlabel(f"percent of {board.part}")
    axes.set_title(f"{result['design']} on {board.title}: yosys estimate")
    axes.invert_yaxis()
    axes.legend(fontsize="small", ncols=2)
    figure.savefig(path, dpi=120)
