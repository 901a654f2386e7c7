"""bench.learning.shares: kinds that have at least, or at most, a share of another's returns."""

import re

import pytest

from bench.learning.documents import found, write_claim
from bench.learning.job import jobs_of
from bench.learning.shares import compared, late_mean, longest_drop
from tests.bench.learning.tiny import *


def result(*late, mean=200.0):
    """A run of 1000 steps whose last fifth has the returns ``late``."""
    curve = [[400, 9000.0], [800, -9000.0]] + [[850 + 10 * i, x] for i, x in enumerate(late)]
    curve += [[1000, late[-1]]]
    return {"mean_return": mean, "steps": 1000, "updates": 7, "seconds": 1.0, "curve": curve}


def row(**shares):
    few = kind("few", title="few", counts=False, seeds=1, **shares)
    return claim(kinds=(kind("base"), few), seeds=2, needed=2, reference="base")


def test_the_last_fifth():
    assert late_mean(result(10.0, 40.0)) == pytest.approx(30)
    assert late_mean({"curve": []}) is None
    assert late_mean({"curve": [[5, 3.0]]}) == 3


@pytest.mark.parametrize(
    "shares, value, holds",
    [
        (dict(at_least=0.95), 95.0, True), (dict(at_least=0.95), 94.9, False),
        (dict(at_most=0.5), 50.0, True), (dict(at_most=0.5), 50.1, False),
        (dict(at_most=0.5), -700.0, True), (dict(at_least=0.5, at_most=0.6), 70.0, False),
        (dict(at_least=0.5, at_most=0.6), 55.0, True), ({}, -5.0, True),
    ],
)  # fmt: skip
def test_shares(tmp_path, shares, value, holds):
    """Of the mean of the reference's seeds; one seed of the other."""
    given = row(**shares)
    results = {("base", 0): result(80.0), ("base", 1): result(120.0), ("few", 0): result(value)}
    line = found(given, results)
    assert line["holds"] == holds and line["kinds"]["few"]["runs"] == 1
    jobs = jobs_of(given, tmp_path / "runs")
    assert set(jobs) == set(results)
    write_claim(given, jobs, results, tmp_path)
    page = (tmp_path / "tiny.md").read_text()
    assert re.search(r"^\| 1 \| 200.0 .* \|  \|$", page, re.M), "a seed that it has not"
    share = f"{value / 100:.2f}" if holds else rf"\*\*{value / 100:.2f}\*\*"
    said = re.search(
        rf"^few: {share} of the reference's .*, {value:.0f} of 100; claimed: at", page, re.M
    )
    assert bool(said) == bool(shares)


@pytest.mark.parametrize(
    "results",
    [
        {("base", 0): result(80.0), ("base", 1): None, ("few", 0): result(99.0)},
        {("base", 0): result(80.0), ("base", 1): result(80.0), ("few", 0): None},
        {("base", 0): result(-80.0), ("base", 1): result(-80.0), ("few", 0): result(-79.0)},
    ],
)
def test_what_cannot_be_compared_does_not_hold(results):
    assert not found(row(at_least=0.5), results)["holds"]


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
        (
            "seeds must be at least 2 with a kind alike, not 1",
            lambda: claim(kinds=(kind("a"), kind("b", alike=True)), reference="a"),
        ),
    ],
)
def test_wrong_rows(words, make):
    with pytest.raises(ValueError, match=f"^{words}$"):
        make()


def beside(**wanted):
    other = kind("other", title="other", **wanted)
    return claim(kinds=(kind("base"), other), seeds=3, needed=0, reference="base")


@pytest.mark.parametrize(
    "values, holds",
    [
        # the difference of the means is 30, its standard error 20 / 3^0.5 * 2^0.5 = 16.3
        ((50.0, 70.0, 90.0), True), ((45.0, 65.0, 85.0), False), ((500.0, 700.0, 900.0), True),
    ],
)  # fmt: skip
def test_not_below(values, holds):
    results = {("base", seed): result(value) for seed, value in enumerate((80.0, 100.0, 120.0))}
    results |= {("other", seed): result(value) for seed, value in enumerate(values)}
    kept, [sentence] = compared(beside(alike=True), results)
    assert kept == holds, sentence
    assert ("**it is** below" in sentence) != holds
    results["other", 1] = None
    assert compared(beside(alike=True), results)[0] is False


def curve(*late):
    return [[10 * i, -100.0] for i in range(1, 51)] + [
        [501 + 10 * i, x] for i, x in enumerate(late)
    ]


def test_a_drop_that_lasts():
    assert longest_drop(curve(*[-119.0] * 49)) == 0
    assert longest_drop(curve(*[-121.0] * 19, -100.0, *[-300.0] * 7, *[-100.0] * 22)) == 19
    low = [-121.0] * 20 + [-100.0] * 29
    assert longest_drop(curve(*low)) == 20
    for late, holds in ((low, False), (low[1:] + [-100.0], True)):
        results = {("base", 0): result(1.0), ("other", 0): result(1.0) | {"curve": curve(*late)}}
        assert compared(beside(recovers=True), results)[0] == holds
