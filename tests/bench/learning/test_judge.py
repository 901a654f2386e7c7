"""bench.learning.judge: noise lets no claim hold (host 4); what cannot be decided is not."""

import numpy as np
import pytest

from bench.learning.claim import AS_GOOD
from bench.learning.interval import _T, Sample, interval
from bench.learning.judge import FAILS, HOLDS, OPEN, judge, late_mean, longest_drop
from tests.bench.learning.tiny import *

#: returns of random actions that have no error of their own
NONE = Sample(0.0, 0.0, 1000)


def run(value, curve=None):
    return {"mean_return": value, "steps": 800, "updates": 7, "seconds": 1.0, "curve": curve}


def results(**values):
    """Of kinds by name, a list of returns each; None is a run that there is not."""
    return {
        (name, seed): None if value is None else run(value)
        for name, each in values.items()
        for seed, value in enumerate(each)
    }


def verdict(*given, chance=NONE, seeds=3, **wanted):
    """Of kind ``own`` beside ``base``, in ``results`` of ``given``; all solve the task."""
    own, base = given
    kinds = (kind("own", **wanted), kind("base", counts=False))
    row = claim(kinds=kinds, seeds=seeds, needed=0, reference="base")
    return judge(row, results(own=own, base=base), chance).verdict


# -- the interval


def test_quantiles_and_intervals_are_scipys():
    stats = pytest.importorskip("scipy.stats")
    wanted = stats.t.ppf(0.975, np.arange(1, 31))
    np.testing.assert_allclose(_T, wanted, atol=6e-4)
    one, two = [10.0, 12.0, 17.0, 9.0], [4.0, 6.0, 11.0, 3.0]  # of one deviation: six degrees
    found = interval([(1, Sample.of(one)), (-1, Sample.of(two))])
    wanted = stats.ttest_ind(one, two, equal_var=False).confidence_interval(0.95)
    np.testing.assert_allclose(found, (wanted.low, wanted.high), atol=1e-3)


def test_an_interval_is_never_narrower_than_welchs():
    """Degrees of freedom that are no whole number are rounded down."""
    stats = pytest.importorskip("scipy.stats")
    two = [4.0, 6.0, 11.0, 3.0, 5.0]
    for one in ([10.0, 40.0, 17.0], [0.0, 4.0, 2.0], [0.0, 10.0, 5.0]):  # 2.1, 5.9, 2.96 degrees
        low, high = interval([(1, Sample.of(one)), (-1, Sample.of(two))])
        wanted = stats.ttest_ind(one, two, equal_var=False).confidence_interval(0.95)
        assert low <= wanted.low and high >= wanted.high


def test_no_deviation_is_a_point_and_one_value_has_none():
    assert interval([(1, Sample.of([3.0, 3.0])), (-2, NONE)]) == (3, 3)
    with pytest.raises(ValueError, match="^values must be at least two, not 1$"):
        Sample.of([3.0])


# -- as good as


@pytest.mark.parametrize("own", [310.0, 900.0, 1131.0])
def test_noise_lets_no_claim_hold(own):
    """host 4: of HalfCheetah's three seeds each a mean of 310 beside 1114 was "not below by more
    than two standard errors", and held."""
    noisy = own + np.array([-700.0, 100.0, 600.0])
    found = verdict(noisy, [914.0, 1014.0, 1414.0], at_least=AS_GOOD)
    assert found != HOLDS


@pytest.mark.parametrize(
    "own, chance, found",
    [
        (80, 0, HOLDS),
        (79.9, 0, FAILS),
        (90, 50, HOLDS),
        (89.9, 50, FAILS),
        (64.1, -80, HOLDS),
        (63.9, -80, FAILS),
    ],
)
def test_what_is_gained_over_random_actions_counts(own, chance, found):
    """Without noise: 0.8 of it, and no less."""
    sample = Sample(float(chance), 0.0, 100)
    assert verdict([own] * 3, [100.0] * 3, chance=sample, at_least=AS_GOOD) == found


@pytest.mark.parametrize("spread, found", [(1, HOLDS), (5, HOLDS), (40, OPEN)])
def test_the_lower_end_of_the_interval_decides(spread, found):
    """Means of 100 and 100: as good, where the seeds are near enough to each other."""
    values = [100.0 - spread, 100.0, 100.0 + spread]
    assert verdict(values, values, at_least=AS_GOOD) == found


def test_the_deviation_of_random_actions_counts_too():
    values, few = [99.0, 100.0, 101.0], Sample(0.0, 500.0, 2)
    assert verdict(values, values, chance=few, at_least=AS_GOOD) == OPEN


@pytest.mark.parametrize("own, found", [(50, HOLDS), (50.1, FAILS), (-700, HOLDS)])
def test_at_most(own, found):
    assert verdict([own] * 3, [100.0] * 3, at_most=0.5) == found


def test_at_most_by_the_upper_end():
    assert verdict([0.0, 40.0, 80.0], [100.0] * 3, at_most=0.5) == OPEN


@pytest.mark.parametrize(
    "own, base, options",
    [
        ([100.0, None, 100.0], [100.0] * 3, {}),
        ([100.0] * 3, [100.0, 100.0, None], {}),
        ([100.0], [100.0], dict(seeds=1)),
        ([100.0] * 3, [100.0] * 3, dict(chance=None)),
        ([-70.0] * 3, [-80.0] * 3, dict(chance=Sample(-80.0, 1.0, 100))),
    ],
    ids=["a run missing", "one of the other's", "one seed", "no random", "nothing gained"],
)
def test_what_is_missing_decides_nothing(own, base, options):
    assert verdict(own, base, at_least=AS_GOOD, **options) == OPEN


def test_a_share_of_one_seed_is_not_decided():
    """host 4: a kind of one seed was judged by it."""
    few = kind("few", counts=False, seeds=1, at_most=0.5)
    row = claim(kinds=(kind("base"), few), seeds=2, needed=2, reference="base")
    given = results(base=[200.0, 200.0], few=[-400.0])
    found = judge(row, given, NONE)
    assert found.verdict == OPEN and "few has one seed" in found.sentences[0]


def test_late_returns_are_of_the_last_fifth():
    late = [[400, 9000.0], [800, -9000.0], [850, 10.0], [1000, 40.0]]
    assert late_mean({"curve": late}) == pytest.approx(25)
    assert late_mean({"curve": []}) is late_mean({"curve": None}) is None
    assert late_mean({"curve": None, "late_mean": 7.0}) == 7
    kinds = (kind("own", at_least=AS_GOOD), kind("base", counts=False))
    row = claim(kinds=kinds, seeds=2, needed=2, reference="base", late=True)
    given = {(name, seed): run(500.0, late) for name in ("own", "base") for seed in (0, 1)}
    assert judge(row, given, NONE).verdict == HOLDS
    given["own", 1] = run(500.0)
    found = judge(row, given, NONE)
    assert found.verdict == OPEN and "were not kept" in found.sentences[0]


# -- the threshold


@pytest.mark.parametrize(
    "values, found",
    [
        ([100, 99, 100], HOLDS), ([100, None, 100], HOLDS), ([99, 99, None], FAILS),
        ([99, 100, None], OPEN), ([None] * 3, OPEN), ([100, 99, 99], FAILS),
    ],
)  # fmt: skip
def test_runs_that_solve(values, found):
    """Two of three are needed."""
    assert judge(claim(seeds=3, needed=2), results(cpu=values)).verdict == found


def test_a_run_that_is_not_finished_solves_nothing():
    given = {("cpu", 0): run(500.0) | {"unfinished": True}}
    found = judge(claim(), given)
    assert (found.verdict, found.solved) == (OPEN, {"cpu": (0, 0)})


# -- what recovers


def curve(*late):
    """Of a run that begins with nothing, and has learned well before its half."""
    early = [[10 * i, -900.0 if i < 25 else -100.0] for i in range(1, 51)]
    return early + [[501 + 10 * i, x] for i, x in enumerate(late)]


def test_a_drop_that_lasts():
    assert longest_drop(run(0.0, curve(*[-119.0] * 49))) == 0
    late = [-121.0] * 19 + [-100.0] + [-300.0] * 7 + [-100.0] * 22
    assert longest_drop(run(0.0, curve(*late))) == 19
    low = [-121.0] * 20 + [-100.0] * 29
    assert longest_drop(run(0.0, curve(*low))) == 20
    row = claim(kinds=(kind(recovers=True),), seeds=1)
    for late, found in ((low, FAILS), (low[1:] + [-100.0], HOLDS)):
        assert judge(row, {("cpu", 0): run(200.0, curve(*late))}).verdict == found
    assert judge(row, {("cpu", 0): run(200.0)}).verdict == OPEN
    assert judge(row, {("cpu", 0): run(200.0) | {"longest_drop": 3}}).verdict == HOLDS


def test_one_run_that_drops_is_enough():
    """And one that is missing leaves it open."""
    row = claim(kinds=(kind(recovers=True),), seeds=3, needed=0)
    low, high = (run(200.0, curve(*[value] * 49)) for value in (-121.0, -100.0))
    for runs, found in (
        ((high, low, high), FAILS),
        ((high, high, high), HOLDS),
        ((high, high, None), OPEN),
    ):
        assert judge(row, {("cpu", seed): each for seed, each in enumerate(runs)}).verdict == found


def test_a_claim_that_fails_in_one_thing_is_not_left_open_by_another():
    row = claim(kinds=(kind("a"), kind("b")), seeds=1)
    assert judge(row, results(a=[99.0], b=[None])).verdict == FAILS
    assert judge(row, results(a=[None], b=[99.0])).verdict == FAILS
    assert judge(row, results(a=[100.0], b=[None])).verdict == OPEN


@pytest.mark.parametrize(
    "words, make",
    [
        ("reference must be one of a, not None", lambda: claim(kinds=(kind("a", at_most=1.0),))),
        ("reference must be one of a, not 'b'", lambda: claim(kinds=(kind("a"),), reference="b")),
        ("counts must be False with seeds, not True", lambda: kind(seeds=1)),
        (
            r"seeds must be an integer in 1\.\.1 \(the claim's\), not 2",
            lambda: claim(kinds=(kind("a"), kind("b", counts=False, seeds=2))),
        ),
    ],
)
def test_wrong_rows(words, make):
    with pytest.raises(ValueError, match=f"^{words}$"):
        make()
