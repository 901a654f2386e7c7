"""Searches the configs of a design for those that are best on a board, from estimates alone.

A point is a config with the clocks of the design's operation and the resources that it needs. It
fits if no resource is unknown and none is more than the planned share of the chosen regions
(``Board.planned``). The front has the points that fit and that no other point equals or betters in
clocks, latency, levels of logic and all resources (Pareto). CF'22 4.2 explores in the same way, on
paper, for one design and one board: ``boards.cf22``.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import product

import numpy as np

from boards import DoesNotFit, needs
from boards.regions import chosen_regions, regions_for
from hw.config import value_of, with_values
from hw.errors import UsageError
from hw.estimate import RESOURCES, exceeded
from hw.space import Space
from hw.suggest import listed

__all__ = ["Decision", "Exploration", "Point", "better", "curves", "explore", "front", "lacking"]
__all__ += ["worthwhile"]

#: The choice is the smallest point whose clocks are at most so many times those of the fastest.
ENOUGH = 1.01


@dataclass(frozen=True, kw_only=True)
class Point:
    """A config that was tried.

    values : ``{dotted name: value}`` of the fields that were tried.
    clocks : clocks of the operation.
    levels, latency : as ``Space.levels`` and ``Space.latency``.
    resources : ``{resource: count}`` on the board; None is unknown. Of a point whose lower bound is
        too much, the bound.
    share : the largest share of a resource, and ``limit`` its name; of an unknown one, infinity.
    total : the sum of the shares of all resources.
    """

    config: object
    values: dict
    clocks: int
    levels: int
    latency: int
    resources: dict
    share: float
    limit: str
    total: float

    @property
    def costs(self):
        """What a better point has less of."""
        return self.clocks, self.levels, self.latency, *self.resources.values()

    @property
    def size(self):
        """What decides between points that are fast enough, the first first."""
        return {"levels": self.levels, "share": self.share, "total": self.total}


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Why a point was chosen: the first cost where it is better than the fastest one.

    cost : "levels", "share" or "total" of a Point; or "clocks", if the choice is the fastest.
    own : this cost of the choice.
    others : sorted tuple of this cost of the points that it put aside, all fast enough.
    """

    cost: str
    own: float
    others: tuple


@dataclass(frozen=True, kw_only=True)
class Exploration:
    """What a search found.

    space : the Space that was searched.
    limits : ``{resource: count or None}`` that a point may use.
    regions : numbers of the regions that have them.
    batch : of the operation whose clocks the points have.
    points : all points, in the order in which they were tried.
    refused : ``{reason: how many points}``: a resource of which they need too much, one that is
        unknown, or a field of which the design has a rule against the value.
    fields : ``{dotted name: values}`` that were tried.
    front : the points on the front, fastest first; points with other numbers do not compete.
    fastest, choice : of all points that fit, the one with the fewest clocks, and the one with the
        least ``share`` whose clocks are within a hundredth of the fewest.
    default : the point of the config from which the search began.
    """

    space: Space
    limits: dict
    regions: tuple
    batch: int
    points: list
    refused: dict
    fields: dict
    front: list
    fastest: Point
    choice: Point
    default: Point

    @property
    def faster(self):
        """The fastest point that needs too much of a known resource, if it is faster than all that
        fit; else None."""
        known = [p for p in self.points if p.share > 1 and None not in p.resources.values()]
        # Of equally fast ones, the one with least of all.
        found = min(known, key=lambda p: (p.clocks, *p.size.values()), default=None)
        return found if found and found.clocks < self.fastest.clocks else None

    @property
    def decision(self):
        """The Decision between the points whose clocks are within a hundredth of the fewest."""
        left = _enough(self.points, self.fastest)
        for cost, own in self.choice.size.items():
            others = {point.size[cost] for point in left} - {own}
            if self.fastest.size[cost] != own:
                return Decision(cost=cost, own=own, others=tuple(sorted(others)))
            left = [point for point in left if point.size[cost] == own]
        return Decision(cost="clocks", own=self.choice.clocks, others=())


def lacking(board, limits, need):
    """Yields a sentence for each resource of which ``need`` has more than ``limits``, the planned
    share of regions of ``board``; both are ``{resource: count}``."""
    for name, limit, wanted in exceeded(need, limits):
        yield (
            f"{name} must be at most {limit} on {board.title} (the planned share), not {wanted:g}"
        )


def explore(design, board, config, *, batch=None, regions=None, fixed=()):
    """The Exploration of ``design`` on ``board``.

    Parameters
    ----------
    design : Design
        UsageError if it has no ``space``. The one searched is the variant's for ``config``.
    board : Board
    config : config
        The design's config from which the search begins.
    batch : int, optional
        The batch of the operation that is timed; None: that of the design for this config.
    regions : tuple of int, optional
        Regions that the kernel may use; None: all.
    fixed : sequence of str
        Dotted names of fields that the search must not change.

    DoesNotFit if no point fits; the message has the resource that is missing, and what would help.
    """
    design = design.of(config)
    space = design.space
    if space is None:
        raise UsageError(f"design must be one with a space to explore, not {design.name!r}")
    batch = space.batch(config) if batch is None else batch
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
        raise UsageError(f"batch must be a positive integer, not {batch!r}")
    regions = chosen_regions(board) if regions is None else regions
    limits = board.planned(*(board.regions[k] for k in regions)).to_dict()
    needed = {
        name: value for name, value in space.prepare(config, batch).items() if name not in fixed
    }
    config = with_values(config, needed)
    fields = {
        name: (value_of(config, name),) if name in fixed else tuple(values)
        for name, values in space.fields(config).items()
    }
    points, refused, seen = [], Counter(), set()
    for values in product(*fields.values()):
        changes = dict(zip(fields, values, strict=True))
        try:
            made = with_values(config, changes)
        except UsageError as error:
            refused[str(error).partition(" ")[0]] += 1
            continue
        shape = space.shape(made)
        if shape not in seen:
            seen.add(shape)
            points.append(_point(design, board, made, changes, batch, limits))
    refused.update(name for point in points for name in _reasons(point, limits))
    fitting = [point for point in points if point.share <= 1]
    if not fitting:
        raise DoesNotFit(_nothing(board, regions, limits, points))
    own = {name: value_of(config, name) for name in fields}
    fastest = min(fitting, key=lambda point: (point.clocks, point.levels, point.total))
    return Exploration(
        space=space,
        limits=limits,
        regions=regions,
        batch=batch,
        points=points,
        refused=dict(sorted(refused.items())),
        fields=fields,
        front=front(fitting, space.numbers),
        fastest=fastest,
        choice=min(_enough(fitting, fastest), key=lambda p: (*p.size.values(), p.clocks)),
        default=_point(design, board, config, own, batch, limits),
    )


def front(points, numbers=()):
    """The points that no other one equals or betters in all ``costs``, fastest first; points with
    other values of the fields ``numbers`` do not compete."""
    groups = {}
    for point in points:
        groups.setdefault(tuple(point.values[name] for name in numbers), []).append(point)
    found = []
    for group in groups.values():
        best = np.empty((len(group), len(group[0].costs)))
        count = 0
        # A point is worse than none that comes later: of the lesser in the first cost that differs.
        for point in sorted(group, key=lambda point: point.costs):
            costs = np.array(point.costs, float)
            if not (best[:count] <= costs).all(axis=1).any():
                best[count], count = costs, count + 1
                found.append(point)
    return sorted(found, key=lambda point: point.costs)


def worthwhile(points):
    """The points whose clocks are bought for something: none of the others has at most a hundredth
    more clocks, no other cost higher, and one that is lower. Points with other values of
    ``Space.numbers`` compete."""
    found = []
    # If a point has no cost but clocks higher than another one, it comes first.
    for point in sorted(points, key=lambda point: (point.costs[1:], point.clocks)):
        if not any(
            other.clocks <= ENOUGH * point.clocks
            and all(a <= b for a, b in zip(other.costs[1:], point.costs[1:], strict=True))
            for other in found
        ):
            found.append(point)
    return sorted(found, key=lambda point: point.costs)


def curves(points, space):
    """``{value of space.curve: points}``, a curve of clocks over ``space.axis`` for each: of each
    value of the axis the fastest point that fits. A point that is not faster than one with less of
    the axis is left out, so that a curve only falls."""
    found = {}
    for point in sorted(points, key=lambda p: (p.values[space.axis], p.clocks, p.total)):
        name = point.values[space.curve] if space.curve else None
        curve = found.setdefault(name, [])
        if point.share <= 1 and (not curve or point.clocks < curve[-1].clocks):
            curve.append(point)
    return {name: curve for name, curve in found.items() if curve}


def better(design, board, config, *, fixed=()):
    """``(own, point)``: the Points of ``config`` and of a better config that fits ``board``; None
    if none was found whose clocks are fewer by more than a hundredth.

    It changes one field at a time, as long as that helps: some hundred points, where ``explore``
    has thousands. So it takes a second, not up to half a minute, and is right for any ``config``:
    its clocks and resources are computed at each call. A stored table of choices would hold for
    default configs only, and until a formula changes. The very best is found by ``explore`` only.
    """
    design = design.of(config)
    space = design.space
    if space is None:
        return None
    batch = space.batch(config)
    limits = board.usable.to_dict()
    points = {}
    fields = {name: tuple(v) for name, v in space.fields(config).items() if name not in fixed}

    def point(values):
        key = tuple(values.values())
        if key not in points:
            try:
                made = with_values(config, values)
            except UsageError:
                points[key] = None
            else:
                points[key] = _point(design, board, made, values, batch, limits)
        return points[key]

    def best(start, rank):
        changes = ({name: value} for name, values in fields.items() for value in values)
        near = [found for each in changes if (found := point(start.values | each))]
        first = min([start, *near], key=rank)
        return start if rank(first) == rank(start) else best(first, rank)

    own = point({name: value_of(config, name) for name in fields})
    fast = best(own, lambda p: (p.share > 1, p.share if p.share > 1 else p.clocks, p.total))
    if fast.share > 1:
        return None
    small = best(fast, lambda p: (not _enough([p], fast), *p.size.values(), p.clocks))
    gains = own.share > 1 or not _enough([own], small)
    return (own, small) if gains else None


def _enough(points, fastest):
    """All ``points`` that fit and take at most a hundredth more clocks than ``fastest``."""
    return [p for p in points if p.share <= 1 and p.clocks <= ENOUGH * fastest.clocks]


def _point(design, board, config, values, batch, limits):
    estimate = design.estimate(config)
    resources, least = needs(board, estimate), estimate.least(board.counted)
    if any(exceeded(least, limits)):
        resources = least
    shares = {name: _share(resources[name], limits[name]) for name in RESOURCES}
    limit = max(RESOURCES, key=shares.get)
    return Point(
        config=config,
        values=values,
        clocks=design.space.clocks(config, batch),
        levels=design.space.levels(config),
        latency=design.space.latency(config),
        resources=resources,
        share=shares[limit],
        limit=limit,
        total=sum(shares.values()),
    )


def _share(need, limit):
    """The part of ``limit`` that is needed; infinity if it is unknown, or if there is none."""
    if limit is None or need == 0:
        return 0.0
    return float("inf") if need is None or limit == 0 else need / limit


def _reasons(point, limits):
    """Of a point that does not fit: the resources that it lacks, or whose need is unknown."""
    for name, limit in limits.items():
        need = point.resources[name]
        if limit is not None and need is None:
            yield f"{name} unknown"
        elif limit is not None and need > limit:
            yield name


def _nothing(board, regions, limits, points):
    """Why no point fits, by the one that lacks least."""
    unknown = [point for point in points if None in point.resources.values()]
    if unknown:
        unknown = sorted({name for point in unknown for name in _reasons(point, limits)})
        return f"resources must be known to fit {board.title}, not unknown: {', '.join(unknown)}"
    least = min(points, key=lambda point: (point.share, point.clocks))
    where = f"region {regions[0]} of " if len(regions) == 1 < len(board.regions) else ""
    text = (
        f"{least.limit} must be at most {limits[least.limit]} in {where}{board.title} (the planned "
        f"share), not {least.resources[least.limit]}, the least that was found "
        f"({listed(least.values)})"
    )
    whole = regions_for(board, least.resources, chosen_regions(board))
    return f"{text}; regions {','.join(map(str, whole))} fits" if whole else text
