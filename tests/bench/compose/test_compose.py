"""bench.compose: its rows are those of its parts."""

from bench import compose
from bench.compose import eps, memory, networks, prediction


def test_rows_are_those_of_all_parts(monkeypatch):
    parts = memory, eps, networks, prediction
    for part in parts:
        monkeypatch.setattr(part, "rows", lambda name=part.__name__: [name])
    assert compose.rows(area=True) == [each.__name__ for each in parts]
