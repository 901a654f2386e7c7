"""The search: what it tries, what fits, the front, the choice; every design on every board."""

import json
import math
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import boards
from bench.explore.area import BARS
from boards.explore import Point, better, curves, explore, front, worthwhile
from boards.regions import chosen_regions, regions_for
from hw.config import value_of, with_values
from hw.designs import DESIGNS
from hw.errors import UsageError
from hw.estimate import RESOURCES, Estimate
from hw.gae.config import GaeConfig
from hw.space import Space

ROOT = Path(__file__).parents[2]
U200 = boards.get("u200")
#: Few lanes and multipliers, so that a search takes a second.
FEW = {
    "learner.lanes": (1, 2),
    "learner.multipliers": (4, 8, 9, 24, 32),
    "learner.update_units": (1, 4, 8),
    "learner.arithmetic.kind": ("float32", "fixed"),
    "replay.fanout": (4, 16),
}


#: More than 500 configs, for the plain search.
MANY = FEW | {
    "learner.lanes": (1, 2, 4, 8),
    "learner.multipliers": (2, 4, 8, 9, 12, 16, 24, 32),
    "learner.update_units": (1, 2, 4, 8),
}


def search(name, board="u200", fields=None, batch=None, fixed=(), regions=None, values=None):
    """An Exploration of a design whose space has, if they are given, other fields."""
    design, board = DESIGNS[name], boards.get(board)
    base = with_values(design.default(board.numbers), values or {})
    if fields is not None:
        design = design.of(base)
        space = replace(design.space, fields=lambda config: fields)
        design = replace(design, space=space, variant=lambda config: {})
    return explore(design, board, base, batch=batch, fixed=fixed, regions=regions)


def names(points):
    return [tuple(point.values.values()) for point in points]


@pytest.mark.parametrize("board", ["u200", "u50", "zcu106"])
@pytest.mark.parametrize("name", DESIGNS)
def test_every_design_on_every_board(name, board):
    """Its choice fits, and nothing that fits is faster by a hundredth; its default is on the
    front. The large spaces are reduced to the default's neighbours."""
    fields, own = None, boards.get(board)
    if name in ("dqn", "ddpg", "td3"):
        default = DESIGNS[name].default(own.numbers).learner
        fields = FEW | {"learner.lanes": (1, 2), "learner.multipliers": (1, 2, 4, 8, 16, 24, 32)}
        fields["learner.update_units"] = tuple(sorted({1, 2, default.update_units}))
    if name == "a3c":
        fields = {"lanes": (2, 4), "units": (("infer", "train"), ("infer", "train") * 2),
                  "rms_units": (4, 8), "drain_words": (1, 2)}  # fmt: skip
    found = search(name, board, fields)
    assert found.choice.share <= 1 and not list(own.usable.exceeded(found.choice.resources))
    assert found.choice.clocks <= 1.01 * min(p.clocks for p in found.points if p.share <= 1)
    assert regions_for(own, found.choice.resources, found.regions)
    assert found.default.costs in [point.costs for point in found.front]


def test_small_learners_are_searched_where_the_default_is_one():
    """Of a ULX3S nothing fits with an optimizer a layer; elsewhere the space is as it was."""
    design, small = DESIGNS["dqn"], boards.get("ulx3s", "dqn")
    base = design.default(small.numbers)
    own = {"learner.lanes": (1,), "learner.multipliers": (1, 2), "replay.fanout": (4,)}
    fields = design.space.fields(base) | own
    assert fields["learner.update_units"][:2] == [0, 1]
    assert fields["learner.loss_unit"] == ("pipeline", "program")
    found = explore(
        replace(design, space=replace(design.space, fields=lambda config: fields)), small, base
    )
    # Equal shapes with another loss, or one optimizer for all layers, are other hardware.
    assert len(found.points) == len({tuple(p.resources.values()) for p in found.points}) > 8
    fitting = [point for point in found.points if point.share <= 1]
    assert {p.values["learner.update_units"] for p in fitting} == {0}
    assert found.choice.values["learner.loss_unit"] == "program"
    assert found.choice.clocks < 0.6 * found.default.clocks
    large = design.space.fields(design.default(U200.numbers))
    assert large["learner.update_units"][0] == 1 and "learner.loss_unit" not in large


def test_a_point_is_what_the_design_says():
    found = search("dqn", fields=FEW)
    design = DESIGNS["dqn"]
    for point in found.points[::7]:
        assert all(value_of(point.config, name) == value for name, value in point.values.items())
        assert point.clocks == design.space.clocks(point.config, 64)
        assert point.resources == design.estimate(point.config).resources


def test_it_is_brute_force():
    """The front and the choice are those of a plain search through all configs, one by one."""
    assert math.prod(map(len, MANY.values())) >= 500
    found, design = search("dqn", fields=MANY), DESIGNS["dqn"]
    base, limits, points = design.default(U200.numbers), U200.usable.to_dict(), {}
    for values in product(*MANY.values()):
        config = with_values(base, dict(zip(MANY, values, strict=True)))
        shape = design.space.shape(config)
        need = design.estimate(config).resources
        if shape not in points and all(need[name] <= limits[name] for name in RESOURCES):
            costs = design.space.clocks(config, 64), design.space.latency(config), *need.values()
            points[shape] = values, costs
    every = list(points.values())
    kind = list(MANY).index("learner.arithmetic.kind")

    def beaten(values, costs):
        return any(
            other[kind] == values[kind] and less != costs and (np.array(less) <= costs).all()
            for other, less in every
        )

    best = [values for values, costs in every if not beaten(values, costs)]
    assert sorted(names(found.front), key=str) == sorted(best, key=str)
    fastest = min(costs[0] for _, costs in every)
    assert found.fastest.clocks == fastest
    near = [(values, costs) for values, costs in every if costs[0] <= 1.01 * fastest]
    share = {values: max(n / limits[name] for n, name in zip(costs[2:], RESOURCES, strict=True))
             for values, costs in near}  # fmt: skip
    assert found.choice.share == min(share.values())


def toy(resources, clocks):
    """A design whose configs have 1 to 6 rows, with resources and clocks by their number."""
    space = Space(
        operation="work",
        batch=lambda config: 1,
        fields=lambda config: {"rows": range(1, 7)},
        clocks=lambda config, batch: clocks(config.rows),
        axis="rows",
    )
    estimate = lambda config: Estimate(**resources(config.rows))  # noqa: E731
    return replace(DESIGNS["gae"], space=space, estimate=estimate)


def of_toy(design, regions=None):
    return explore(design, U200, GaeConfig(), batch=1, regions=regions)


FREE = dict(ff=0, bram36=0, uram=0, dsp=0)


def test_the_smallest_within_a_hundredth_is_chosen():
    """200 clocks at half the size are better than 199, but 203 are not."""
    clocks = {1: 300, 2: 203, 3: 200, 4: 199, 5: 199, 6: 400}
    found = of_toy(toy(lambda n: dict(lut=10_000 * n, **FREE), clocks.get))
    assert names([found.fastest, found.choice]) == [(4,), (3,)]
    assert names(found.front) == [(4,), (3,), (2,), (1,)]


def test_fixars_further_cores_buy_nothing():
    """FIXAR loads one tile at a time: from four cores on a batch of 64 is no faster, unless its
    port gives more words a clock."""
    found = search("fixar", batch=64, fixed=("replay.fanout", "learner.port_words"))
    assert found.choice.values["learner.cores"] == 4
    assert found.fastest.values["learner.cores"] == 7
    assert found.choice.clocks < 1.01 * found.fastest.clocks
    wider = search("fixar", batch=64, fixed=("replay.fanout", "learner.cores"))
    assert wider.refused["port_words"]


@pytest.mark.parametrize("name", RESOURCES)
def test_what_is_unknown_is_never_feasible(name):
    def resources(n):
        return dict.fromkeys(RESOURCES, 1) | ({name: None} if n > 2 else {})

    found = of_toy(toy(resources, lambda n: 100 - n))
    assert names([found.fastest, found.choice]) == [(2,), (2,)]
    assert found.refused == {f"{name} unknown": 4} and found.faster is None
    with pytest.raises(boards.DoesNotFit, match=f"must be known to fit .* {name} unknown"):
        of_toy(toy(lambda n: resources(3), lambda n: 1))


def test_nothing_fits():
    """The message has the resource, the limit, the least need, and regions that would do."""
    design = toy(lambda n: dict(lut=100_000 + 20_000 * n, **FREE), lambda n: 1)
    with pytest.raises(boards.DoesNotFit) as error:
        of_toy(design, regions=(1,))
    assert str(error.value) == (
        "lut must be at most 111897 in region 1 of Alveo U200 (the planned share), not 120000, "
        "the least that was found (rows 1); regions 0 fits"
    )


def test_a_faster_one_that_does_not_fit_is_named():
    design = toy(lambda n: dict(lut=1, **FREE | dict(dsp=2000 * n)), lambda n: 100 - n)
    found = of_toy(design)
    assert (found.choice.values, found.faster.values) == ({"rows": 2}, {"rows": 6})
    assert found.refused == {"dsp": 4} and found.faster.limit == "dsp"


def test_fewer_levels_go_before_a_smaller_kernel():
    """Of gae within a hundredth: three registers in a PE's loop, although they take more blocks."""
    found = search("gae")
    own = {point.values["gae.lookahead"]: point for point in found.points
           if point.values["gae.rows"] == 64}  # fmt: skip
    assert own[1].clocks <= own[3].clocks <= 1.01 * own[1].clocks and own[1].share < own[3].share
    assert found.choice is own[3] and found.fastest is own[1]


def test_two_regions_are_said():
    """0.7 of the tables of region 0 are 248 381, of region 2 248 473; region 1 has fewer."""
    wanted = {248_381: (0,), 248_382: (2,), 248_474: (0, 1), 608_752: (0, 1, 2), 608_753: None}
    for need, where in wanted.items():
        assert regions_for(U200, dict(lut=need), (0, 1, 2)) == where
    assert regions_for(U200, dict(lut=111_897), (1, 2)) == (1,)


@pytest.mark.parametrize("text", ["3", "-1", "0,3", "a", ""])
def test_regions_that_are_not(text):
    with pytest.raises(
        UsageError, match=f"regions must be all, or some of 0, 1, 2 .* not '{text}'"
    ):
        chosen_regions(U200, text)
    assert chosen_regions(U200, "2,0") == (0, 2)


def test_what_is_fixed_stays():
    found = search("dqn", fields=FEW, fixed=("learner.lanes", "learner.batch"),
                   values={"learner.lanes": 2}, batch=32)  # fmt: skip
    assert {point.values["learner.lanes"] for point in found.points} == {2}
    assert found.choice.config.learner.batch == 64, "a batch that is set is not replaced"
    assert search("dqn", fields=FEW, batch=32).choice.config.learner.batch == 32


@pytest.mark.parametrize(
    "name, words, most", [("dqn", (4, 8, 4, 2), 32), ("ddpg", ((1, 2, 4, 1), (2, 8, 8, 1)), 64)]
)
def test_given_words_have_no_other_multipliers(name, words, most):
    """And no more of a layer's numbers are updated in a clock than a block has."""
    design, base = DESIGNS[name], DESIGNS[name].default(U200.numbers)
    fields = design.space.fields(with_values(base, {"learner.words": words}))
    assert fields["learner.multipliers"] == (base.learner.multipliers,)
    assert max(fields["learner.update_units"]) == most


@pytest.mark.parametrize("name", ["dqn", "ddpg"])
def test_numbers_that_are_left_out_are_no_other_kernels(name):
    """Of 1 to 256 multipliers: a search of all finds the same shapes."""
    space, base = DESIGNS[name].space, DESIGNS[name].default(U200.numbers)

    def shapes(numbers):
        fields = "learner.multipliers", "learner.arithmetic.kind"
        every = product(numbers, ("float32", "fixed"))
        return {space.shape(with_values(base, dict(zip(fields, x, strict=True)))) for x in every}

    few = space.fields(base)["learner.multipliers"]
    assert len(few) == 34 and shapes(few) == shapes(range(1, 257))


def test_a_value_that_breaks_a_rule_is_counted_by_its_field():
    fields = FEW | {"learner.lanes": (2, 3), "learner.multipliers": (8,)}
    found = search("dqn", fields=fields)
    assert found.refused["lanes"] == 3 * 2 * 2 and {
        p.config.learner.lanes for p in found.points
    } == {2}


def test_points_with_other_numbers_do_not_compete():
    def point(kind, clocks):
        return Point(config=None, values={"kind": kind}, clocks=clocks, levels=0, latency=0,
                     resources={}, share=0, limit="lut", total=0)  # fmt: skip

    slow, fast = point("float32", 9), point("fixed", 1)
    assert front([slow, fast]) == [fast] and front([slow, fast], ("kind",)) == [fast, slow]


def test_the_usual_network_in_fixed_point():
    """CF'22's search on one design, ours on the whole board: at most a third of 5 567."""
    kind = {"learner.arithmetic.kind": "fixed"}
    found = search("dqn", values=kind, fixed=(*kind, "replay.fanout"), batch=64)
    assert found.choice.clocks <= 1948
    less = search("dqn", batch=64, regions=(0,), fields=FEW)
    assert less.limits["dsp"] == 1812 and less.choice.clocks > found.choice.clocks


def test_what_was_mapped_is_near_the_estimates():
    """Of a kernel of each design, as docs/results has them (``python -m bench explore --area``)."""
    kept = json.loads((ROOT / "docs/results/explore.json").read_text())
    rows = [row for each in kept for row in each["rows"] if row["metric"].endswith("_estimate")]
    assert {row["case"].partition(" ")[0] for row in rows} == {*DESIGNS}
    for row in rows:
        share, cells = BARS[row["metric"].removesuffix("_estimate")]
        assert row["value"] == pytest.approx(row["reference_value"], rel=share, abs=cells), row


def test_gaes_levels_are_those_of_yosys():
    """As docs/results has them for words of 27 bits."""
    rows = json.loads((ROOT / "docs/results/gae.json").read_text())
    depth = {
        row["case"]: row["value"]
        for each in rows
        for row in each["rows"]
        if row["metric"] == "logic_depth"
    }
    space, base = DESIGNS["gae"].space, DESIGNS["gae"].default(U200.numbers)
    for k in (1, 2, 3):
        config = with_values(base, {"gae.lookahead": k})
        assert space.levels(config) == depth[f"pe, k={k}, words of 27 bits"]


@pytest.mark.parametrize("name, board", [("dqn", "u200"), ("dqn", "zcu106"), ("gae", "ulx3s")])
def test_curves_of_the_picture_only_fall(name, board):
    """8 lanes went from 860 up to 4889 clocks and down again: a line went through points that fit
    and points that do not."""
    found = search(name, board, MANY | {"learner.lanes": (1, 4, 8)} if name == "dqn" else None)
    space = DESIGNS[name].space
    drawn = curves(found.points, space)
    assert set(drawn) <= {p.values[space.curve] if space.curve else None for p in found.points}
    assert sum(map(len, drawn.values())) > 3
    for curve, points in drawn.items():
        assert all(point.share <= 1 for point in points)
        assert space.curve is None or {p.values[space.curve] for p in points} == {curve}
        steps = [(point.values[space.axis], point.clocks) for point in points]
        assert all(a < b and x > y for (a, x), (b, y) in zip(steps, steps[1:], strict=False)), steps
    # The fastest that fits ends a curve, and every point that fits lies on or above its curve.
    assert min(c[-1].clocks for c in drawn.values()) == found.fastest.clocks
    for point in found.points:
        if point.share <= 1:
            curve = drawn[point.values[space.curve] if space.curve else None]
            below = [p for p in curve if p.values[space.axis] <= point.values[space.axis]]
            assert below[-1].clocks <= point.clocks


def test_a_curve_of_points_that_do_not_fit():
    """Four rows are faster than three, but do not fit; six are slower than five."""
    clocks = {1: 900, 2: 500, 3: 300, 4: 100, 5: 250, 6: 280}
    need = {1: 1, 2: 2, 3: 3, 4: 10**9, 5: 5, 6: 6}
    design = toy(lambda n: dict(lut=need.get(n, n), **FREE), lambda n: clocks.get(n, n))
    (curve,) = curves(of_toy(design).points, design.space).values()
    assert [(p.values["rows"], p.clocks) for p in curve] == [(1, 900), (2, 500), (3, 300), (5, 250)]


def test_what_gains_less_than_a_hundredth_is_not_offered():
    """Of all points, each is offered or there is one offered that is about as fast and needs no
    more; and none of those offered is so to another one."""

    def covers(one, other):
        less = all(a <= b for a, b in zip(one.costs[1:], other.costs[1:], strict=True))
        return less and one.clocks <= 1.01 * other.clocks

    points = search("dqn", fields=MANY).front
    offered = worthwhile(points)
    assert 3 < len(offered) < len(points)
    for point in points:
        covering = [each for each in offered if covers(each, point)]
        assert covering == [point] if point in offered else covering


def test_second_masters_that_gain_nothing_are_not_offered():
    """With 8 units of RMSProp, masters of theta and of squares apart gain 0.02 %."""
    fields = {"lanes": (4, 8), "units": (("infer", "train") * 2,), "rms_units": (4, 8, 16),
              "drain_words": (2,), "global_masters": (1, 2)}  # fmt: skip
    found = search("a3c", fields=fields)
    clocks = {tuple(p.values.values()): p.clocks for p in found.points}
    offered = worthwhile(found.front)
    for point in offered:
        *others, masters = point.values.values()
        assert masters == 1 or point.clocks * 1.01 < clocks[(*others, 1)]
    assert len(offered) < len(found.front) and any(p.values["global_masters"] > 1 for p in offered)


def test_the_cost_that_decided():
    gae = search("gae", "zcu106").decision
    assert (gae.cost, gae.own, gae.others) == ("levels", 9, (11, 14))
    assert of_toy(toy(lambda n: dict(lut=n, **FREE), {n: 10**n for n in range(1, 7)}.get)
                  ).decision.cost == "clocks"  # fmt: skip
    # 199 clocks of four rows are a hundredth less than the 200 of three, for more lookup tables.
    clocks = {1: 300, 2: 203, 3: 200, 4: 199, 5: 199, 6: 400}
    share = of_toy(toy(lambda n: dict(lut=10_000 * n, **FREE), clocks.get)).decision
    assert share.cost == "share" and share.own == 30_000 / U200.usable.lut < min(share.others)
    # The nearest limit is the same, but not all resources.
    free = FREE | {"dsp": 0}
    total = of_toy(toy(lambda n: dict(free, lut=90_000, ff=n), clocks.get)).decision
    assert total.cost == "total" and total.own < min(total.others)
    # Three rows are put aside by their share, before the sum is compared.
    need = {1: (90_000, 1), 2: (90_000, 50), 3: (100_000, 2)}
    resources = lambda n: free | dict(zip(("lut", "ff"), need.get(n, (n, n)), strict=True))  # noqa: E731
    clocks = {1: 200, 2: 199, 3: 200}
    found = of_toy(toy(resources, lambda n: clocks.get(n, 900)))
    assert names([found.choice, found.fastest]) == [(1,), (2,)]
    assert found.decision.cost == "total" and found.decision.others == (found.fastest.total,)


def check_better(name, board, **values):
    """What ``better`` finds is so; returns it."""
    design, board = DESIGNS[name], boards.get(board)
    config = with_values(design.default(board.numbers), values)
    found = better(design, board, config, fixed=values)
    if found is None:
        return None
    own, point = found
    batch = design.space.batch(config)
    assert own.config == config and own.clocks == design.space.clocks(config, batch)
    made = with_values(config, point.values)
    assert made == point.config and point.clocks == design.space.clocks(made, batch)
    need = design.estimate(made)
    assert not list(board.usable.exceeded(boards.needs(board, need)))
    assert own.share > 1 or own.clocks > 1.01 * point.clocks
    assert all(value_of(point.config, field) == value for field, value in values.items())
    return found


@pytest.mark.parametrize("board", ["u200", "ulx3s", "zcu106"])
@pytest.mark.parametrize("name", ["replay", "gae", "dqn", "fixar"])
def test_a_better_config_is_better(name, board):
    found = check_better(name, board)
    missing = {("gae", "u200"), ("gae", "ulx3s"), ("gae", "zcu106"), ("replay", "zcu106"),
               ("fixar", "ulx3s"), ("fixar", "zcu106"), ("dqn", "ulx3s")}  # fmt: skip
    assert (found is None) == ((name, board) in missing)
    if name in ("replay", "gae"):  # few points: it agrees with the whole search
        whole = search(name, board)
        gains = whole.default.clocks > 1.01 * whole.choice.clocks
        assert gains == (found is not None)
        assert found is None or found[1].clocks <= 1.01 * whole.fastest.clocks


@pytest.mark.long
@pytest.mark.parametrize("board", ["u200", "zcu106"])
@pytest.mark.parametrize("name", ["ddpg", "a3c"])
def test_a_better_config_of_a_large_design(name, board):
    assert check_better(name, board)


def test_what_is_given_stays_in_a_better_config():
    kept = {"learner.arithmetic.kind": "float32", "learner.lanes": 2}
    own, point = check_better("dqn", "u200", **kept)
    assert point.values.keys() == own.values.keys()
    whole = search("replay", "u200").choice.values
    assert check_better("replay", "u200", **whole) is None
    assert better(replace(DESIGNS["gae"], space=None), U200, GaeConfig()) is None
