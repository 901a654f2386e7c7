"""CF'22's rule of exploration: the paper's numbers, its equations computed again, and errors."""

import json
from dataclasses import replace
from fractions import Fraction as F

import pytest

from boards import DoesNotFit, cf22
from boards.u50 import U50
from boards.u200 import U200
from hw.errors import UsageError


def explored(algorithm, sizes=None, board=U200, **options):
    observation, hidden, action = sizes or cf22.PUBLISHED[algorithm].network
    sizes = dict(observation=observation, hidden=(hidden,), action=action)
    return cf22.explore(algorithm, board=board, **sizes | options)


@pytest.mark.parametrize(
    "algorithm, sizes, cap, dp, widest, dsp, clocks",
    [
        ("dqn", (4, 64, 2), 32, 2, 32, 1600, 312),
        ("dqn", (8, 64, 4), 32, 2, 32, 1600, 624),
        ("ddpg", (8, 64, 2), 32, 2, 32, 2560, 780),
        ("dqn", (4, 64, 2), None, 1, 64, 1600, 280),
    ],
)
def test_the_choice_is_the_paper_s(algorithm, sizes, cap, dp, widest, dsp, clocks):
    found = explored(algorithm, sizes, cap=cap)
    grid = found.pop("grid")
    choice = dict(dp=dp, widest=widest, dsp=dsp, clocks=clocks)
    limit = {"dqn": 2265, "ddpg": 4530}[algorithm]
    table2 = found.pop("table2")
    assert found == dict(
        rule="cf22",
        network="-".join(map(str, sizes)),
        algorithm=algorithm,
        batch=64,
        cap=cap,
        limit=limit,
        **choice,
    )
    assert {**choice, "fits": True} in grid
    assert table2["dsp"]["formula"] == {"dqn": 1600, "ddpg": 2560}[algorithm]


@pytest.mark.parametrize(
    "algorithm, paper, percent",
    [
        ("dqn", dict(dsp=1600, lut=346_000, ff=459_000), dict(dsp=45, lut=67, ff=43)),
        ("ddpg", dict(dsp=2560, lut=708_000, ff=1_035_000), dict(dsp=43, lut=81, ff=58)),
    ],
)
def test_shares_are_table_2_s(algorithm, paper, percent):
    table = explored(algorithm)["table2"]
    assert {name: row["paper"] for name, row in table.items()} == paper
    assert {name: row["paper_share"] for name, row in table.items()} == percent
    assert all(abs(row["share"] - row["paper_share"]) <= 1 for row in table.values())
    assert [table[name]["formula"] for name in ("lut", "ff")] == [None, None]


# -- the paper's equations, computed once more


def stages(algorithm, s, h, a):
    """``([(stage, multiply-accumulates)], [sizes of the weights])``, as a reader of 3.2.4 would
    write them down."""
    if algorithm == "dqn":
        rows = [("FW", s * h), ("FW", h * a), ("BW", h * a), ("WA", s * h), ("WA", h * a)]
        return [*rows, ("target FW", s * h), ("target FW", h * a)], [s * h, h * a]
    wide, narrow, up, out = (s + a) * h, h * 1, s * h, h * a
    critic = [("FW", wide), ("FW", narrow), ("BW", narrow), ("WA", wide), ("WA", narrow)]
    targets = [("actor", up), ("actor", out), ("critic", wide), ("critic", narrow)]
    actor = [("FW", up), ("FW", out), ("critic FW", wide), ("critic FW", narrow)]
    back = [("critic BW", narrow), ("to the action", a * h), ("BW", out), ("WA", up), ("WA", out)]
    return critic + targets + actor + back, [wide, narrow, up, out]


def plain(algorithm, sizes, batch, dp, widest):
    """``(dsp, clocks)``: multipliers of every stage one by one, then the slowest stage."""
    work, weights = stages(algorithm, *sizes)
    largest = max(count for _, count in work)
    multipliers = [F(count * widest, largest) for _, count in work]
    slowest = max(count / own for (_, count), own in zip(work, multipliers, strict=True))
    n = 3 * (3 - 1)
    pipeline = (F(batch, dp) + n - 1) * slowest
    updating = sum(F(size * widest, largest) for size in weights)
    return 5 * dp * sum(multipliers), pipeline + sum(dp * size / updating for size in weights)


@pytest.mark.parametrize(
    "algorithm, sizes, batch, cap",
    [
        ("dqn", (4, 64, 2), 64, 32),
        ("dqn", (3, 50, 7), 48, 100),
        ("ddpg", (8, 64, 2), 64, None),
        ("ddpg", (17, 96, 6), 1, 1),
        ("ddpg", (1, 1, 1), 6, None),
    ],
)
def test_the_grid_is_the_paper_s_equations(algorithm, sizes, batch, cap):
    found = explored(algorithm, sizes, batch=batch, cap=cap)
    largest = max(count for _, count in stages(algorithm, *sizes)[0])
    powers = [2**k for k in range(20)]
    pairs = [
        (dp, widest)
        for dp in powers
        for widest in powers
        if dp <= batch and batch % dp == 0 and widest <= min(cap or largest, largest)
    ]
    assert [(point["dp"], point["widest"]) for point in found["grid"]] == pairs
    best = None
    for point, pair in zip(found["grid"], pairs, strict=True):
        dsp, clocks = plain(algorithm, sizes, batch, *pair)
        assert (point["dsp"], point["clocks"]) == (float(dsp), float(clocks))
        assert point["fits"] == (dsp <= found["limit"])
        if dsp <= found["limit"] and (best is None or (clocks, dsp) < best[0]):
            best = (clocks, dsp), pair
    assert (found["dp"], found["widest"]) == best[1]
    assert json.loads(json.dumps(found)) == found


def test_units_are_the_stages():
    for algorithm, sizes in (("dqn", (4, 64, 2)), ("ddpg", (8, 64, 2))):
        units, weights = cf22.operations(algorithm, *sizes)
        rows, sizes = stages(algorithm, *sizes)
        assert sorted(units) == sorted(count for _, count in rows)
        assert list(weights) == sizes


# -- boards


def test_limits_are_the_regions_of_the_board():
    found = explored("dqn", regions=(1,))
    assert found["limit"] == U200.regions[1].dsp == 1317
    # Two pipelines of the same units no longer fit.
    assert (found["dp"], found["widest"], found["dsp"]) == (1, 32, 800)
    smaller = replace(U200, regions=tuple(replace(each, dsp=100) for each in U200.regions))
    found = explored("ddpg", board=smaller)
    assert found["limit"] == 200
    assert found["table2"]["dsp"]["share"] == round(100 * 2560 / 300, 1)


def test_another_board_has_no_share_where_a_region_is_absent():
    found = explored("ddpg", board=U50, regions=(0, 1))
    assert found["limit"] == sum(region.dsp for region in U50.regions)
    assert [row["share"] for row in found["table2"].values()] == [None] * 3


# -- errors


@pytest.mark.parametrize(
    "algorithm, options, message",
    [
        ("ppo", {}, "algorithm must be one of dqn, ddpg, not 'ppo'"),
        ("dqn", dict(hidden=(64, 64)), "hidden must be one layer, not (64, 64)"),
        ("dqn", dict(hidden=()), "hidden must be one layer, not ()"),
        ("dqn", dict(hidden=(0,)), "hidden must be a positive integer, not 0"),
        ("dqn", dict(observation=0), "observation must be a positive integer, not 0"),
        ("dqn", dict(action=-1), "action must be a positive integer, not -1"),
        ("dqn", dict(batch=0), "batch must be a positive integer, not 0"),
        ("dqn", dict(batch=6.4), "batch must be a positive integer, not 6.4"),
        ("dqn", dict(cap=0), "cap must be a positive integer, not 0"),
        ("dqn", dict(cap="32"), "cap must be a positive integer, not '32'"),
        (
            "dqn",
            dict(regions=(0, 3)),
            "regions must be some of Alveo U200 with a known number of dsp, not (0, 3)",
        ),
        (
            "dqn",
            dict(regions=()),
            "regions must be some of Alveo U200 with a known number of dsp, not ()",
        ),
    ],
)
def test_errors(algorithm, options, message):
    with pytest.raises(UsageError) as caught:
        explored(algorithm, (4, 64, 2), **options)
    assert str(caught.value) == message


def test_unknown_dsp_is_no_limit_to_search_under():
    unknown = replace(U200, regions=(replace(U200.regions[0], dsp=None), *U200.regions[1:]))
    with pytest.raises(UsageError, match=r"^regions must be .* known number of dsp, not \(0,\)$"):
        explored("dqn", board=unknown)


def test_nothing_fits():
    tiny = replace(U200, regions=tuple(replace(each, dsp=12) for each in U200.regions))
    message = (
        "dsp must be at most 24 in regions 0,2 of Alveo U200, not 40, the least of CF'22's rule"
    )
    with pytest.raises(DoesNotFit) as caught:
        explored("ddpg", board=tiny)
    assert str(caught.value) == message
