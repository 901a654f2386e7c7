"""``rlfabric explore --verify``: the best points simulated, and the choice mapped."""

from pathlib import Path

import boards
from boards.explore import lacking
from boards.report import report
from host.explore.measurement import measure
from host.explore.resource_report import progress
from hw.estimate import RESOURCES

__all__ = ["best", "verified"]


def best(found, count):
    """The choice of an Exploration, and the ``count - 1`` fastest other points that fit and have
    other clocks than those before."""
    points, seen = [found.choice], {found.choice.clocks}
    for point in sorted(found.front, key=lambda point: (point.clocks, point.total)):
        if point.clocks not in seen:
            points.append(point)
            seen.add(point.clocks)
    return points[:count]


def verified(found, document, out, count):
    """``{"verified": [...], "mapped": {...}}`` for an exploration's document.

    ``verified``: of ``count`` points ``fields``, ``clocks`` by formula, and those ``measured`` on
    card ``sim``. ``mapped``: of the choice, what yosys counts in the ``kernel``, and in ``lacks``
    sentences about resources of which the whole exceeds the planned share of the regions. It takes
    minutes. Raises CardTimeout, SynthesisError and MissingTool.
    """
    name, board = document["design"], boards.get(document["board"])
    rows = []
    for point in best(found, count):
        clocks = measure(name, board.name, Path(out) / "kernels", point.config, document["batch"])
        rows.append({"fields": point.values, "clocks": point.clocks, "measured": clocks})
    with progress() as show:
        mapped = report(
            name, board, found.choice.config, work=Path(out) / "area", levels=1, progress=show
        )
    lacks = list(lacking(board, found.limits, mapped["mapped"]))
    kernel = {each: mapped["kernel"][each] for each in RESOURCES}
    return {"verified": rows, "mapped": {"kernel": kernel, "lacks": lacks}}
