"""An exploration as a table and as a picture."""

import io

from boards.explore import curves, front, lacking, worthwhile
from host.terminal.tables import console, table
from hw.estimate import RESOURCES
from hw.extras import needed
from hw.suggest import listed, written

__all__ = ["drawn", "show"]

_ROWS = 14


def show(found, document, board):
    """Prints an Exploration and its document as a table and the sentences that explain it."""
    tried = [name for name, values in document["fields"].items() if len(values) > 1]
    shown = _shown(found)
    # Costs that are equal in all points decide nothing.
    costs = [
        name
        for name in ("levels", "latency")
        if len({getattr(point, name) for point in found.points}) > 1
    ]
    parts = [found.space.parts(point.config, found.batch) for point in shown]
    rows = [
        [
            point.clocks,
            *own.values(),
            *(getattr(point, name) for name in costs),
            " ".join(written(point.values[name]) for name in tried),
            *(_count(point.resources[name]) for name in RESOURCES),
            f"{point.limit} {100 * point.share:.0f}%",
            f"{100 * point.total:.0f}%",
        ]
        for point, own in zip(shown, parts, strict=True)
    ]
    names = " ".join(name.rpartition(".")[2] for name in tried)
    resources = (name.upper() for name in RESOURCES)
    heads = ("clocks", *parts[0], *costs, names, *resources, "nearest limit", "sum")
    regions = ", ".join(map(str, found.regions))
    table(
        f"{document['design']} on {board.title}, {document['operation']}: the front, from "
        f"{len(found.points)} configs, within the planned share of regions {regions}",
        heads,
        rows,
    )
    for line in _sentences(document, board):
        console.print(line, soft_wrap=True, markup=False, highlight=False)


def _count(number):
    """Thousands with a k, so that a row fits a narrow terminal."""
    return f"{number / 1000:.0f}k" if number >= 10_000 else f"{number:g}"


def _shown(found):
    """Of the front at most ``_ROWS`` points that are worthwhile and less of the board than all
    faster ones, with the choice and the default among them."""
    best, least = [], float("inf")
    for point in sorted(worthwhile(found.front), key=lambda point: (point.clocks, point.share)):
        if point.share < least:
            best.append(point)
            least = point.share
    step = max(1, -(-len(best) // _ROWS))
    chosen = [*best[::step], found.choice]
    if any(point.costs == found.default.costs for point in found.front):
        chosen.append(found.default)
    distinct = {point.costs: point for point in chosen}
    return sorted(distinct.values(), key=lambda point: point.costs)


def _sentences(document, board):
    choice, default, faster = (document[name] for name in ("choice", "default", "faster"))
    regions = choice["regions"]
    which = f"region {regions[0]}" if len(regions) == 1 else f"{len(regions)} regions"
    yield f"choice: {listed(choice['fields'])}; {choice['clocks']} clocks; needs {which}"
    yield _decided(document["decision"], choice, document["fastest"])
    share = choice["clocks"] / default["clocks"]
    fits = "" if default["regions"] else ", which does not fit here"
    yield f"that is {share:.2f} of the clocks of the board's default ({default['clocks']}{fits})"
    if document["fastest"]["clocks"] < choice["clocks"]:
        quick = document["fastest"]
        yield (
            f"the fastest ({listed(quick['fields'])}) is {quick['clocks']} clocks, a gain of less "
            f"than a hundredth for {100 * quick['share']:.0f} % of {quick['limit']}"
        )
    if faster:
        nearest = {faster["limit"]: document["limits"][faster["limit"]]}
        (why,) = lacking(board, nearest, faster["resources"])
        own = listed(faster["fields"])
        yield f"faster ones do not fit: {own} ({faster['clocks']} clocks): {why}"
    unknown = sum(n for name, n in document["refused"].items() if name.endswith(" unknown"))
    if unknown:
        yield f"resources of {unknown} configs are unknown: these are never called fitting"
    for each in document.get("verified", ()):
        own = listed(each["fields"])
        yield f"simulated: {own}: {each['measured']} clocks, {each['clocks']} by formula"
    if mapped := document.get("mapped"):
        counts = ", ".join(f"{name} {mapped['kernel'][name]:g}" for name in RESOURCES)
        yield f"mapped by yosys: {counts}"
        yield from (f"does not fit as mapped: {line}" for line in mapped["lacks"])
        return
    yield "all figures are estimates: see docs/explorer.md for how far they are off"


def _decided(decision, choice, fastest):
    """Which cost decided for the choice, among the configs that are fast enough."""
    cost, own, others = (decision[name] for name in ("cost", "own", "others"))
    if cost == "clocks":
        return "decided by clocks: it is the fastest that fits"
    if cost == "levels":
        against = " and ".join(map(str, others))
        return f"decided by levels of logic: {own}, against {against} of others as fast (1 %)"
    if cost == "share":
        against = f"{100 * fastest['share']:.0f} % of {fastest['limit']}"
        own = f"{100 * own:.0f} % of {choice['limit']}"
        return f"decided by the nearest limit: {own}, against {against} of the fastest (1 % faster)"
    return f"decided by the sum of all shares: {100 * own:.0f} %, the least of those as fast (1 %)"


def drawn(found, space, title):
    """A PNG with two panels of points that fit. Left, in the form of CF'22's Fig. 7: clocks over
    ``space.axis``, a falling line for each ``space.curve`` (``boards.explore.curves``). Right:
    clocks over the share of the nearest limit. A star is the choice."""
    figures = needed("matplotlib.figure", "plot", "to draw")
    figure = figures.Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    same = [
        point
        for point in found.points
        if all(point.values[name] == found.choice.values[name] for name in space.numbers)
    ]
    _lines(left, same, space, found.choice)
    shares = [point for point in found.points if point.share <= 1]
    right.scatter(
        [100 * p.share for p in shares], [p.clocks for p in shares], s=4, color="0.8", label="fits"
    )
    best = front(found.front, ())
    right.scatter(
        [100 * p.share for p in best],
        [p.clocks for p in best],
        s=8,
        color="tab:blue",
        label="front",
    )
    for point, marker, name in ((found.default, "x", "default"), (found.choice, "*", "choice")):
        if point.share < float("inf"):
            right.plot(100 * point.share, point.clocks, marker, color="tab:red", ms=11, label=name)
    right.set_xlabel("percent of the nearest limit")
    right.legend(fontsize="small")
    left.set_yscale("log")
    left.set_ylabel("clocks by formula")
    figure.suptitle(title)
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=120)
    return file.getvalue()


def _lines(axes, points, space, choice):
    for name, curve in curves(points, space).items():
        label = f"{space.curve.rpartition('.')[2]} {written(name)}" if space.curve else None
        xs, ys = zip(*((p.values[space.axis], p.clocks) for p in curve), strict=True)
        axes.plot(xs, ys, "o-", lw=1, ms=3, label=label)
    axes.plot(choice.values[space.axis], choice.clocks, "*", ms=13, color="tab:red", label="choice")
    axes.set_xscale("log", base=2)
    axes.set_xlabel(f"{space.axis.rpartition('.')[2]} (configs that fit)")
    axes.legend(fontsize="small")
