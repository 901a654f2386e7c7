"""bench.compose: its rows are those of its parts."""

from bench import compose
from bench.compose import eps, memory, prediction


def test_rows_are_those_of_all_parts(monkeypatch):
    for part in (memory, eps, prediction):
        monkeypatch.setattr(part, "rows", lambda name=part.__name__: [name])
    assert compose.rows(area=True) == [each.__name__ for each in (memory, eps, prediction)]
