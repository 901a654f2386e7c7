"""bench.learning.documents: kinds that shall agree, losses that shall fall."""

import re

import numpy as np
import pytest

from bench.learning.documents import found, write_claim
from bench.learning.job import jobs_of
from tests.bench.learning.tiny import *

BOTH = (kind("card", title="ours"), kind("torch", title="theirs", counts=False))


def results_of(rows, **more):
    """Of ``{kind's name: mean returns}``."""
    return {
        (name, seed): {
            "mean_return": None if value is None else float(value),
            "steps": 800,
            "updates": 7,
            "seconds": 1.0,
            "curve": [[400, 1.0]],
            **more,
        }
        for name, values in rows.items()
        for seed, value in enumerate(values)
    }


@pytest.mark.parametrize("shift, agrees", [(1.99, True), (2.01, False), (-2.01, False)])
def test_two_kinds_agree_within_two_standard_errors_of_their_difference(tmp_path, shift, agrees):
    """Of three seeds each; the error by NumPy's own deviations."""
    ours, theirs = np.array([200.0, 204.0, 211.0]), np.array([190.0, 205.0, 199.0])
    error = np.hypot(np.std(ours, ddof=1), np.std(theirs, ddof=1)) / np.sqrt(3)
    ours += theirs.mean() - ours.mean() + shift * error
    row = claim(kinds=BOTH, seeds=3, needed=3, training=True, agree=("card", "torch"))
    results = results_of({"card": ours, "torch": theirs})
    assert found(row, results)["holds"] == agrees
    write_claim(row, jobs_of(row, tmp_path / "runs"), results, tmp_path)
    page = (tmp_path / "tiny.md").read_text()
    words = "within" if agrees else r"\*\*more than\*\*"
    line = rf"^ours less theirs: {shift * error:.2f}, {words} two standard errors of {error:.2f}\.$"
    assert re.search(line, page, re.M)
    assert "the last 100 episodes that the run's actors finished" in page


def test_one_run_of_a_kind_says_nothing_about_agreement():
    row = claim(kinds=BOTH, seeds=2, needed=2, training=True, agree=("card", "torch"))
    results = results_of({"card": [150.0, 160.0], "torch": [155.0]}) | {("torch", 1): None}
    assert not found(row, results)["holds"]


@pytest.mark.parametrize("first, last, holds", [(2.0, 1.99, True), (2.0, 2.0, False)])
def test_a_loss_that_falls_is_the_threshold(tmp_path, first, last, holds):
    """Also of a run in which no episode has ended."""
    row = claim(falls="loss", training=True, threshold=None)
    results = results_of({"cpu": [None]}, falls=[first, last])
    line = found(row, results)
    assert line["holds"] == holds and line["threshold"] is None
    write_claim(row, jobs_of(row, tmp_path / "runs"), results, tmp_path)
    page = (tmp_path / "tiny.md").read_text()
    assert f"no episode; loss {first:.3g} to {last:.3g}" in page
    assert "computes finite numbers and a loss that falls" in page


def test_a_run_that_is_not_finished_is_shown_so_far(tmp_path):
    """It solves nothing, however high its return; its curve is in the figure all the same."""
    row = claim(kinds=BOTH, seeds=1, needed=1, training=True, threshold=-18.0)
    results = results_of({"card": [21.0], "torch": [-20.0]})
    del results["card", 0]["updates"]
    results["card", 0] |= {"unfinished": True, "steps": 123_456}
    line = found(row, results)
    assert not line["holds"] and line["kinds"]["card"]["runs"] == 0
    write_claim(row, jobs_of(row, tmp_path / "runs"), results, tmp_path)
    page = (tmp_path / "tiny.md").read_text()
    assert "| 0 | 21.0 so far (123 456) | **-20.0**, not solved (800; 7) |" in page
    assert "A run of which it says so far is not finished" in page and "It does not hold" in page
