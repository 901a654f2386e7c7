"""Draws a figure of ``bench.figures``: panels with marks and lines, or grey with the reason."""

from textwrap import fill

from hw.extras import needed

__all__ = ["draw"]

_COLUMNS = 3
_MARKS = "osD^v"
#: Text stays text, and names of clip paths do not depend on chance.
_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "rlfabric", "font.size": 8}


def draw(figure, digest, file, form="svg"):
    """Draws ``figure``, a result of ``bench.figures.resolved``, into the open binary ``file``. The
    bytes of an SVG, ``form``, depend on the figure and on matplotlib's version only. MissingTool
    without matplotlib."""
    figures = needed("matplotlib.figure", "plot", "to draw the papers' figures")
    context = needed("matplotlib", "plot", "to draw the papers' figures").rc_context
    panels = figure["panels"]
    columns = 2 if len(panels) == 4 else min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    with context(_STYLE):
        drawn = figures.Figure(figsize=(3.4 * columns, 3.3 * rows), layout="constrained")
        title = f"{figure['paper']}, {figure['figure']}: {figure['title']}"
        drawn.suptitle(fill(title, 50 * columns), fontsize=9)
        # Below each panel its legend has a place of its own, where it covers nothing.
        places = drawn.subplots(2 * rows, columns, squeeze=False, height_ratios=[2.2, 1] * rows)
        for each in places.flat:
            each.set_axis_off()
        for at, panel in enumerate(panels):
            row, column = divmod(at, columns)
            axes, key = places[2 * row : 2 * row + 2, column]
            _panel(panel, axes)
            key.legend(*axes.get_legend_handles_labels(), loc="upper center", fontsize=6.5,
                       frameon=False, borderaxespad=0)  # fmt: skip
        kept = {"Date": None, "Creator": None, "Identifier": digest} if form == "svg" else None
        drawn.savefig(file, format=form, metadata=kept, dpi=110)


def _panel(panel, axes):
    marks, lines = panel.get("marks", []), panel.get("lines", [])
    axes.set_axis_on()
    axes.set_title(panel["title"], fontsize=8)
    axes.set_xlabel(panel["x"])
    axes.set_ylabel(panel["y"])
    place = _scales(panel.get("log", ""), axes, [each["points"] for each in (*lines, *marks)])
    for each in lines:
        (line,) = axes.plot(*_split(each["points"], place), ".-", lw=1.2, label=each["label"])
        if "reached" in each:
            label = f"{each['label']}, reached"
            axes.plot(*each["reached"], "x", color=line.get_color(), label=label)
    for shape, each in zip(_MARKS, marks, strict=False):
        style = dict(color="black", mfc="none", marker=shape)
        style["label"] = fill(f"{each['label']} ({each['how']})", 50)
        points = [each["reached"]] if "reached" in each else each["points"]
        if points[0][0] is None:
            across = axes.get_yaxis_transform()
            axes.plot(
                [0, 0.5, 1], 3 * [points[0][1]], ":", markevery=[1], transform=across, **style
            )
        else:
            axes.plot(*_split(points, place), ls="none", **style)
    if panel.get("bottom") is not None:
        values = [y for each in (*lines, *marks) for _, y in each["points"]]
        axes.set_ylim(panel["bottom"], 1.1 * max(values))
    if "no_lines" in panel:
        axes.set_facecolor("0.88")
        axes.text(0.5, 0.4, fill(panel["no_lines"], 32), transform=axes.transAxes, ha="center",
                  va="center", color="0.25")  # fmt: skip
    else:
        axes.grid(alpha=0.3)
    if "no_marks" in panel:
        axes.plot([], [], ls="none", label=fill(f"no mark: {panel['no_marks']}", 50))


def _scales(log, axes, series):
    """Sets scales and ticks for ``series``, lists of points; returns a function from an x of the
    data to its place. ``log`` names the axes that are logarithmic."""
    ticker = needed("matplotlib.ticker", "plot", "to draw the papers' figures")
    found = list(dict.fromkeys(x for points in series for x, _ in points if x is not None))
    if "y" in log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda y, _: f"{y:g}"))
        twos = ticker.FuncFormatter(lambda y, _: f"{y:g}" if f"{y:e}"[0] in "25" else "")
        axes.yaxis.set_minor_formatter(twos)
    if not series:
        axes.set_xticks([])
        axes.set_yticks([])
    elif not found:
        axes.set_xticks([])
    elif isinstance(found[0], str):
        many = len(found) > 4 and max(map(len, found)) > 2
        axes.set_xticks(range(len(found)), [each if many else fill(each, 12) for each in found],
                        rotation=30 * many, ha="right" if many else "center")  # fmt: skip
        axes.set_xlim(-0.4, len(found) - 0.6)
        return found.index
    elif "x" in log:
        axes.set_xscale("log", base=2)
        axes.set_xticks(found, [f"{each:g}" for each in found])
    else:
        axes.xaxis.set_major_locator(ticker.MaxNLocator(4))
    return lambda x: x


def _split(points, place):
    return [place(x) for x, _ in points], [y for _, y in points]
