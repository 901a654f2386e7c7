"""What the explorer chooses for a U200, and the processor time that a search takes."""

import time

import boards
from bench import row
from boards.explore import explore
from hw.config import with_values
from hw.designs import DESIGNS

__all__ = ["rows", "speed"]

#: Configs of ``dqn`` to which the time of a search is scaled, and the limit of that time.
_POINTS, _SECONDS = 3500, 10


def speed():
    """``(points, seconds)``: how many configs of ``dqn`` a search at B = 64 has, and the processor
    time that it takes in a process that has computed nothing before."""
    design, board = DESIGNS["dqn"], boards.get("u200")
    start = time.process_time()
    found = explore(design, board, design.default(board.numbers), batch=64)
    seconds = time.process_time() - start
    return len(found.points), seconds


def rows():
    """The list of rows search_seconds of dqn; points, choice_cycles and choice_share of each design
    on a U200 at its default batch; and choice_cycles of dqn in fixed point."""
    board, result = boards.get("u200"), []
    points, seconds = speed()
    source = "processor time of one process, without the import of its modules"
    result.append(
        row("explore", "dqn, B=64", "search_seconds", round(seconds * _POINTS / points, 1), "s",
            reference=f"for {_POINTS} points, at most", reference_value=_SECONDS, source=source)
    )  # fmt: skip
    for name, design in DESIGNS.items():
        found = explore(design, board, design.default(board.numbers))
        case = f"{name} on {board.title}, {design.space.operation.format(batch=found.batch)}"
        source = "by formula, among all that fit by estimate"
        result += [
            row("explore", case, "points", len(found.points), "configs", source="the search"),
            row("explore", case, "choice_cycles", found.choice.clocks, "cycles",
                reference="the board's default", reference_value=found.default.clocks,
                source=source),
            row("explore", case, "choice_share", round(100 * found.choice.share), "%",
                reference=f"of {found.choice.limit}, default's nearest limit",
                reference_value=round(100 * found.default.share), source=source),
        ]  # fmt: skip
    # The bar: the usual network in fixed point, with all regions.
    design = DESIGNS["dqn"]
    kind = {"learner.arithmetic.kind": "fixed"}
    base = with_values(design.default(board.numbers), kind)
    found = explore(design, board, base, batch=64, fixed=tuple(kind))
    result.append(
        row("explore", "dqn 4-64-64-2, fixed, B=64, all regions", "choice_cycles",
            found.choice.clocks, "cycles", reference="at most (0.35 x the default's of two lanes)",
            reference_value=1948, source="by formula")
    )  # fmt: skip
    return result
