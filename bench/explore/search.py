"""What the explorer chooses for a U200, and the processor time that a search takes."""

import gc
import time
from functools import lru_cache

import boards
from bench import row
from boards.explore import explore
from hw.config import with_values
from hw.designs import DESIGNS

__all__ = ["alone", "choice", "rows", "speed"]

#: Configs of ``dqn`` to which the time of a search is scaled, and the limit of that time.
_POINTS, _SECONDS = 3500, 10
#: How many estimates of single configs a search is compared with, and the limit of the ratio.
_ALONE, _RATIO = 100, 10
_BATCH = 64
#: The class of functions whose results are kept.
_KEEPS = type(lru_cache(lambda: None))


def speed():
    """``(found, seconds)``: the Exploration of ``dqn`` at B = 64, and the processor time that it
    takes in a process that has computed nothing before."""
    design, board = DESIGNS["dqn"], boards.get("u200")
    start = time.process_time()
    found = explore(design, board, design.default(board.numbers), batch=_BATCH)
    return found, time.process_time() - start


def alone(points):
    """Processor time, in seconds, of the clocks and resources of 100 of ``points``, those of a
    search of ``dqn``, each worked out as if it were the first: nothing is kept from one to the
    next."""
    design, seconds = DESIGNS["dqn"], 0
    kept = [x for x in gc.get_objects() if isinstance(x, _KEEPS) and x.__module__[:3] == "hw."]
    for number in range(_ALONE):
        config = points[number * len(points) // _ALONE].config
        for function in kept:
            function.cache_clear()
        config = type(config).from_dict(config.to_dict())  # it keeps some of its properties
        start = time.process_time()
        design.estimate(config)
        design.space.clocks(config, _BATCH)
        seconds += time.process_time() - start
    return seconds


def choice(name):
    """The rows points, choice_cycles and choice_share of the design ``name`` on a U200 at its
    default batch."""
    design, board = DESIGNS[name], boards.get("u200")
    found = explore(design, board, design.default(board.numbers))
    case = f"{name} on {board.title}, {design.space.operation.format(batch=found.batch)}"
    source = "by formula, among all that fit by estimate"
    return [
        row("explore", case, "points", len(found.points), "configs", source="the search"),
        row("explore", case, "choice_cycles", found.choice.clocks, "cycles",
            reference="the board's default", reference_value=found.default.clocks, source=source),
        row("explore", case, "choice_share", round(100 * found.choice.share), "%",
            reference=f"of {found.choice.limit}, default's nearest limit",
            reference_value=round(100 * found.default.share), source=source),
    ]  # fmt: skip


def rows():
    """The list of rows search_seconds and search_ratio of dqn; those of the ``choice`` of each
    design; and choice_cycles of dqn in fixed point."""
    board, result = boards.get("u200"), []
    found, seconds = speed()
    scaled = seconds * _POINTS / len(found.points)
    source = "processor time of one process, without the import of its modules"
    result.append(
        row("explore", "dqn, B=64", "search_seconds", round(scaled, 1), "s",
            reference=f"for {_POINTS} points, at most", reference_value=_SECONDS, source=source)
    )  # fmt: skip
    result.append(
        row("explore", "dqn, B=64", "search_ratio", round(scaled / alone(found.points), 1), "x",
            reference=f"{_POINTS} points over {_ALONE} estimates that keep nothing, at most",
            reference_value=_RATIO, source="processor time of one process, in one run")
    )  # fmt: skip
    for name in DESIGNS:
        result += choice(name)
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
