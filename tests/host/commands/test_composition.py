"""The picture of an assignment: which pair stands where, and what is marked."""

from matplotlib.figure import Figure

from host.commands import composition
from host.compose.assign import Sizes, assign
from tests.host.machine_files import machine, matrix

LINKS = {"cpu0 cpu0": (1, 20), "cpu0 card0": (10, 8), "card0 card0": (1, 16)}


def test_the_grid():
    """RM to the right, learner upwards; the pair of two devices is the best, and one is refused."""
    rows = {
        "cpu0 apart": (10, 1, 10, 180),
        "cpu0 both": (20, 1, 20, 160),
        "card0 apart": (50, 1, 20, 80),
    }
    times = matrix(machine({"cpu0": None, "card0": None}, LINKS), rows)
    found = assign(times, Sizes(batch=100, inserts=1, words=4))
    (axes,) = Figure().subplots(1, 1, squeeze=False)[0]
    composition._grid(axes, found, "eps")
    # T: 200, 100 (learner on the card), 250 (RM on the card)
    assert {text.get_position(): text.get_text() for text in axes.texts} == {
        (0, 0): "500k", (0, 1): "1000k", (1, 0): "400k", (1, 1): "-"
    }  # fmt: skip
    (image,) = axes.images
    assert image.origin == "lower" and image.get_array().filled(0).tolist() == [
        [500_000, 400_000], [1_000_000, 0]
    ]  # fmt: skip
    (frame,) = axes.lines
    assert set(zip(*frame.get_data(), strict=True)) == {(x, y) for x in (-0.5, 0.5)
                                                        for y in (0.5, 1.5)}  # fmt: skip
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("RM", "learner")
    assert [each.get_text() for each in axes.get_xticklabels()] == ["cpu0", "card0"]
