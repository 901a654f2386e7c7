"""bench.learning.figure: each curve in the panel of its kind, at its own numbers."""

import pytest
from matplotlib.figure import Figure

from bench.learning.figure import draw
from tests.bench.learning.tiny import *

CURVES = {("one", 0): [[400, 1.0], [800, 2.0]], ("one", 1): [[400, 7.0]], ("two", 0): [[800, 5.0]]}


@pytest.fixture
def panels(monkeypatch, tmp_path):
    """``panels(claim, results)``: the axes of what is drawn."""
    kept = []
    monkeypatch.setattr(Figure, "savefig", lambda self, path, **_: kept.append((self, path)))

    def drawn(row, results):
        draw(row, results, tmp_path / "a.png")
        figure, path = kept.pop()
        assert path == tmp_path / "a.png"
        return figure.axes

    return drawn


def lines(panel):
    return {
        line.get_label(): [list(point) for point in zip(*line.get_data(), strict=True)]
        for line in panel.lines
        if not line.get_label().startswith("_")
    }


def test_a_panel_a_kind_and_a_line_a_seed(panels):
    """A seed without a curve has an empty line, so that colours are the same in all panels."""
    row = claim(kinds=(kind("one"), kind("two", counts=False)), seeds=2)
    results = {key: {"curve": curve} for key, curve in CURVES.items()} | {("two", 1): None}
    one, two = panels(row, results)
    assert lines(one) == {"0": CURVES["one", 0], "1": CURVES["one", 1]}
    assert lines(two) == {"0": CURVES["two", 0], "1": []}
    assert [panel.get_title() for panel in (one, two)] == ["one", "two"]
    for panel in (one, two):
        (threshold,) = (line for line in panel.lines if line.get_label().startswith("_"))
        assert set(threshold.get_ydata()) == {100.0}
    assert one.get_ylabel() == "greedy return" and one.get_xlabel() == "environment steps"


def test_a_claim_without_a_threshold(panels):
    (panel,) = panels(claim(falls="loss", training=True), {})
    assert len(panel.lines) == 1 and panel.get_ylabel() == "return in training"
