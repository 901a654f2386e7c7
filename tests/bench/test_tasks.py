"""bench.tasks, shortened: its rows; and (long) its bars."""

import gymnasium
import pytest

from bench import tasks


def test_rows(monkeypatch):
    monkeypatch.setattr(tasks, "BARS", {4: 20})
    monkeypatch.setattr(tasks, "_STEPS", 40)
    rows = tasks.rows()
    assert len(rows) == 2 * len(tasks.NAMES)
    for rate, times in zip(rows[::2], rows[1::2], strict=True):
        assert rate["metric"] == "steps_per_s" and times["metric"] == "times"
        assert rate["reference"].endswith(gymnasium.__version__)
        wanted = rate["value"] / rate["reference_value"]
        assert times["value"] == pytest.approx(wanted, abs=0.06, rel=1e-3)
        assert times["reference_value"] == 20


@pytest.mark.long
def test_bars():
    short = [row for row in tasks.rows() if row["metric"] == "times"]
    assert len(short) == 6 and all(row["value"] >= row["reference_value"] for row in short)
