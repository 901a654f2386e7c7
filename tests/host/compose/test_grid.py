"""The picture of pairs of devices: which pair stands where, and what is marked."""

import pytest
from matplotlib.figure import Figure

from host.compose import algorithm1, compose_view
from host.compose.assignment import Sizes, assign
from tests.host.machine_files import machine, matrix

LINKS = {"cpu0 cpu0": (1, 20), "cpu0 card0": (10, 8), "card0 card0": (1, 16)}
ROWS = {
    "cpu0 apart": (10, 1, 10, 180),
    "cpu0 both": (20, 1, 20, 160),
    "card0 apart": (50, 1, 20, 80),
}


@pytest.fixture
def axes():
    return Figure().subplots(1, 1, squeeze=False)[0][0]


def corners(axes):
    (frame,) = axes.lines
    return set(zip(*frame.get_data(), strict=True))


def test_a_panel(axes):
    """RM to the right, learner upwards; the pair of two devices is the best, and one is refused."""
    values = {("cpu0", "cpu0"): 500e3, ("cpu0", "card0"): 1e6, ("card0", "cpu0"): 400e3}
    names = ("cpu0", "card0")
    compose_view._panel(axes, names, names, values, ("cpu0", "card0"))
    assert {text.get_position(): text.get_text() for text in axes.texts} == {
        (0, 0): "500k", (0, 1): "1000k", (1, 0): "400k", (1, 1): "-"
    }  # fmt: skip
    (image,) = axes.images
    assert image.origin == "lower" and image.get_array().filled(0).tolist() == [
        [500_000, 400_000], [1_000_000, 0]
    ]  # fmt: skip
    assert corners(axes) == {(x, y) for x in (-0.5, 0.5) for y in (0.5, 1.5)}
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("RM", "learner")
    assert [each.get_text() for each in axes.get_xticklabels()] == ["cpu0", "card0"]


def test_without_a_replay_memory_there_is_one_column(monkeypatch, axes):
    monkeypatch.setattr(Figure, "subplots", lambda self, *_, **__: [[axes]])
    found = compose_view.grid("a3c", ("-",), ("cpu0", "card0"), {"EPS": {(None, "card0"): 12.0}},
                      (None, "card0"))  # fmt: skip
    assert found.startswith(b"\x89PNG")
    assert [text.get_text() for text in axes.texts] == ["-", "12"]
    assert corners(axes) == {(x, y) for x in (-0.5, 0.5) for y in (0.5, 1.5)}


@pytest.mark.parametrize("number, text", [(None, None), (9999.4, "9999"), (12345.0, "12.35k")])
def test_figures(number, text):
    assert compose_view.figure_of(number) == text


def test_what_of_an_assignment_is_drawn(monkeypatch):
    told = []
    monkeypatch.setattr(compose_view, "grid", lambda *arguments: told.append(arguments))
    found = assign(
        matrix(machine({"cpu0": 100, "card0": None}, LINKS), ROWS),
        Sizes(batch=100, inserts=1, words=4),
    )
    algorithm1.drawn("dqn", found)
    [(title, rms, learners, panels, choice)] = told
    assert title == "dqn, batch 100, metric throughput" and choice == ("cpu0", "card0")
    assert rms == learners == ("cpu0", "card0") and list(panels) == ["experiences a second"]
    # T: 200, 100 (learner on the card), 250 (RM on the card)
    assert panels["experiences a second"] == pytest.approx(
        {("cpu0", "cpu0"): 500e3, ("cpu0", "card0"): 1e6, ("card0", "cpu0"): 400e3}
    )
