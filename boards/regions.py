"""Regions (SLRs) of a board: those that a user names, and those that a kernel needs."""

from itertools import combinations

from hw.errors import UsageError

__all__ = ["chosen_regions", "regions_for"]


def chosen_regions(board, text="all"):
    """Numbers of the regions that ``text`` names: ``all``, or numbers with commas between them."""
    count = len(board.regions)
    if text == "all":
        return tuple(range(count))
    try:
        found = sorted({int(part) for part in text.split(",")})
    except ValueError:
        found = []
    if not found or not 0 <= found[0] <= found[-1] < count:
        known = ", ".join(map(str, range(count)))
        raise UsageError(
            f"regions must be all, or some of {known} as in 0,{count - 1}, not {text!r}"
        )
    return tuple(found)


def regions_for(board, resources, regions):
    """The fewest of ``regions``, a tuple of numbers, whose planned share is enough for
    ``resources``; None if even all are not."""
    for size in range(1, len(regions) + 1):
        for some in combinations(regions, size):
            if not any(board.planned(*(board.regions[k] for k in some)).exceeded(resources)):
                return some
    return None
