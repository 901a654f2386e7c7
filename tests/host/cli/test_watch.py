"""`rlfabric watch`: the curve that is drawn, and when it ends."""

import io
import json
import os

import pytest
from rich.console import Console

from host.cli import watch as module
from host.cli.watch import bars, has_ended, picture, watch

HEADS = "launches,steps,episodes,return_mean,evaluation_return\n"


def folder_of(path, rows, summary=None):
    path.mkdir(exist_ok=True)
    (path / "progress.csv").write_text(HEADS + "".join(f"{row}\n" for row in rows))
    if summary is not None:
        (path / "summary.json").write_text(json.dumps({"config": summary}))
    return path


def test_bars():
    """In eighths; a column without a point has the value before, a low one a line."""
    assert bars([(0, 0.0), (1, 1.0), (2, 2.0), (3, 3.0)], 4, 1, 0, 4) == ["▁▂▄▆"]
    assert bars([(0, 8.0), (9, 16.0)], 4, 2, 0, 16) == ["   █", "████"]
    assert bars([(0, 1.0), (1, 3.0)], 1, 1, 0, 4) == ["▄"], "the mean"
    assert bars([(5, 7.0)], 3, 2, 7.0, 7.0) == ["███", "███"]
    assert bars([(0, -5.0), (1, 9.0)], 2, 1, 0, 4) == ["▁█"], "beyond its ends"


def test_picture():
    rows = [
        dict(steps=0, episodes=0, return_mean=None, evaluation_return=None),
        dict(steps=100, episodes=4, return_mean=20.0, evaluation_return=30.0),
        dict(steps=200, episodes=6, return_mean=40.0, evaluation_return=25.0),
    ]
    assert picture(rows[:1], "x") == ["x: no episode has ended"]
    title, *curve, last = picture(rows, "dqn on X", 100.0, width=14, height=4)
    assert title == "dqn on X" and [line[:4] for line in curve] == ["100 ", "    ", "    ", " 20 "]
    assert all(len(line) == 14 for line in curve) and curve[-1].endswith("█")
    assert last == "step 200, 6 episodes, return 40, best greedy 30"
    assert picture(rows, "x", width=14, height=4)[1].startswith("40 ")
    assert picture(rows, "x", 30.0)[1].startswith("40 "), "beyond the threshold"
    assert [len(line) for line in picture(rows, "x", width=3)[1:-1]] == [4] * 10, "one column"


def test_a_run_that_has_ended(tmp_path, run):
    folder = folder_of(tmp_path / "run", ["1,100,4,20.0,"], dict(algo="dqn", env="CartPole-v1"))
    code, out, _ = run("watch", folder)
    assert code == 0 and "dqn on CartPole-v1" in out and "475" in out
    assert "step 100, 4 episodes, return 20\n" in out
    code, _, err = run("watch", tmp_path)
    assert code == 2 and "RUN must be a run's folder with a progress.csv" in err


def test_a_terminal_of_ascii(tmp_path):
    folder = folder_of(tmp_path / "run", ["1,100,4,20.0,"], dict(algo="dqn", env="CartPole-v1"))
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding="ascii") as file:
        watch(folder, Console(file=file, width=40))
        file.flush()
        assert b"return 20" in raw.getvalue() and b" 20 ....." in raw.getvalue()


def test_it_follows_until_the_summary_is_newer(tmp_path, monkeypatch):
    """That of a run which is resumed is older than its rows."""
    folder = folder_of(tmp_path / "run", ["1,100,4,20.0,"], dict(algo="dqn", env="Other-v9"))
    os.utime(folder / "summary.json", ns=(0, 0))
    assert not has_ended(folder) and not has_ended(tmp_path)
    for name in ("summary.json", "progress.csv"):
        os.utime(folder / name, ns=(5, 5))
    assert has_ended(folder), "in one tick of the disk's clock"
    os.utime(folder / "summary.json", ns=(0, 0))
    naps = []

    def sleep(seconds):
        naps.append(seconds)
        rows = ["1,100,4,20.0,", "2,200,6,40.0,30.0"]
        folder_of(folder, rows, dict(algo="dqn", env="Other-v9") if len(naps) == 2 else None)

    monkeypatch.setattr(module.time, "sleep", sleep)
    text = io.StringIO()
    watch(folder, Console(file=text, width=60, force_terminal=True))
    assert naps == [1.0, 1.0]
    assert "step 100, 4" in text.getvalue() and "step 200, 6 episodes" in text.getvalue()


def test_rows_that_come_with_the_end_are_drawn(tmp_path, monkeypatch):
    """A run that ends while its rows are read is looked at once more."""
    folder = folder_of(tmp_path / "run", ["1,100,4,20.0,"])
    rows, naps, read = ["1,100,4,20.0,", "2,200,6,40.0,30.0"], [], module.read_progress

    def ends(folder):
        found = read(folder)
        folder_of(folder, rows, dict(algo="dqn", env="Other-v9"))
        return found

    monkeypatch.setattr(module, "read_progress", ends)
    monkeypatch.setattr(module.time, "sleep", naps.append)
    text = io.StringIO()
    watch(folder, Console(file=text, width=60, force_terminal=True))
    assert len(naps) == 1 and "step 200, 6 episodes" in text.getvalue()


def test_an_interrupt_ends_it(tmp_path, monkeypatch):
    folder = folder_of(tmp_path / "run", ["1,100,4,20.0,"])

    def sleep(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(module.time, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        watch(folder, Console(file=io.StringIO(), force_terminal=True))
