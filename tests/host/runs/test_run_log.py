"""host.runs.run_log: what a run leaves can be read, also after it broke off."""

import csv
import json
import os

import numpy as np
import pytest
from matplotlib.figure import Figure
from rich.console import Console
from tensorboardX.proto.event_pb2 import SessionLog

from host.actors.messages import ActorLoss
from host.agents.registry import ALGORITHMS, find
from host.runs import run_log
from host.runs.run_log import (
    COLUMNS,
    TAGS,
    ActorLog,
    RunLog,
    plot_returns,
    read_progress,
    write_summary,
)
from tests.host.event_files import all_events, scalars
from tests.host.experience import kind_of

#: of all runs, and ppo's own behind them
ALL = (*COLUMNS, *find("ppo").columns)


def rows_of(out):
    return [(row["launches"], row["loss"]) for row in read_progress(out)]


def test_rows_come_back(tmp_path):
    log = RunLog(tmp_path, columns=ALL)
    log.write({"launches": 100, "steps": 800, "loss": 0.25, "td_error": None})
    log.write({"launches": 200, "steps": 1600, "loss": 1e-07, "exploration": 1.0, "fill": 7})
    log.close()
    one, two = read_progress(tmp_path)
    assert one == dict.fromkeys(ALL) | {"launches": 100, "steps": 800, "loss": 0.25}
    assert two["loss"] == 1e-07 and two["fill"] == 7 and isinstance(two["fill"], int)
    assert (tmp_path / "progress.csv").read_text().splitlines()[0] == ",".join(ALL)
    found = scalars(tmp_path)
    assert (800, "train/loss", 0.25) in found and (1600, "card/fill", 7.0) in found
    assert (1600, "rollout/exploration_rate", 1.0) in found and len(found) == 6


def test_a_run_has_its_own_columns(tmp_path):
    """In the order of COLUMNS, then an algorithm's own in its order; of no other algorithm."""
    columns = ("kl", "steps", "loss", "launches")
    log = RunLog(tmp_path, columns=columns)
    log.write({"launches": 1, "steps": 8, "loss": 0.5, "fill": 3})
    log.close()
    lines = (tmp_path / "progress.csv").read_text().splitlines()
    assert lines == ["launches,steps,kl,loss", "1,8,,0.5"]
    log = RunLog(tmp_path, 1, columns=columns)
    log.write({"launches": 2, "steps": 16, "kl": 0.25})
    log.close()
    assert read_progress(tmp_path) == [
        {"launches": 1, "steps": 8, "loss": 0.5, "kl": None},
        {"launches": 2, "steps": 16, "loss": None, "kl": 0.25},
    ]
    RunLog(tmp_path, 2, columns=("launches", "steps", "fill", "kl")).close()
    lines = (tmp_path / "progress.csv").read_text().splitlines()
    assert lines == ["launches,steps,fill,kl", "1,8,,", "2,16,,0.25"]


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=lambda each: each.name)
def test_each_column_is_told_once(algorithm):
    """By the table of all runs, or by the algorithm; and the algorithm's are no learner's."""
    for place in algorithm.learners:
        learner = kind_of(algorithm).learners[place]
        assert set(learner.columns) <= COLUMNS.keys() | algorithm.columns.keys(), learner
    assert algorithm.columns and not COLUMNS.keys() & algorithm.columns
    assert all((COLUMNS | algorithm.columns).values())


def test_a_row_that_is_too_long_is_left_out(tmp_path):
    log = RunLog(tmp_path, columns=("launches", "steps", "loss"))
    log.write({"launches": 1, "steps": 8, "loss": 0.5})
    log.close()
    with (tmp_path / "progress.csv").open("a") as file:
        file.write("2,16,0.25,3\n3,24,0.125\n")
    assert rows_of(tmp_path) == [(1, 0.5), (3, 0.125)]


def test_tensorboard_has_the_groups_of_stable_baselines(tmp_path):
    log = RunLog(tmp_path, columns=ALL)
    row = dict.fromkeys(ALL, 0.5) | {"launches": 3, "steps": 96, "seconds": 4.0}
    log.write(row)
    log.close()
    found = {tag: (step, value) for step, tag, value in scalars(tmp_path)}
    assert {step for step, _ in found.values()} == {96}
    expected = {"rollout/ep_rew_mean", "rollout/exploration_rate", "eval/mean_reward"}
    expected |= {"train/loss", "train/policy_gradient_loss", "train/value_loss", "train/approx_kl"}
    expected |= {"train/clip_fraction", "train/explained_variance", "train/learning_rate"}
    assert expected <= found.keys()
    assert found["time/fps"] == (96, 24.0) and found["time/time_elapsed"] == (96, 4.0)
    assert found["time/launches"] == (96, 3.0)
    assert len(found) == len(ALL), "each but steps, and fps"
    assert {tag.split("/")[0] for tag in found} == {"rollout", "train", "eval", "time", "card"}
    assert TAGS.keys() <= set(ALL)


def test_events_after_the_checkpoint_are_purged(tmp_path):
    """As TensorBoard does with a step that a later session starts below."""
    log = RunLog(tmp_path, columns=ALL)
    for launches in (100, 200, 300):
        log.write({"launches": launches, "steps": 8 * launches, "loss": 1.0})
    log.close()
    RunLog(tmp_path, 250, ALL).close()
    starts = [e.step for e in all_events(tmp_path) if e.session_log.status == SessionLog.START]
    assert starts == [1601]


def test_rows_are_on_disk_at_once(tmp_path):
    log = RunLog(tmp_path, columns=ALL)
    log.write({"launches": 1, "steps": 8, "loss": 0.5})
    assert rows_of(tmp_path) == [(1, 0.5)]
    assert [value for *_, value in scalars(tmp_path)] == [1.0, 0.5]
    log.close()


def test_resume_drops_what_came_after(tmp_path):
    log = RunLog(tmp_path, columns=ALL)
    for launches in (100, 200, 300):
        log.write({"launches": launches, "steps": 8 * launches, "loss": 1.0})
    log.close()
    with (tmp_path / "progress.csv").open("a") as file:
        file.write("400,3200,2")  # cut off
    assert rows_of(tmp_path) == [(100, 1.0), (200, 1.0), (300, 1.0)]
    log = RunLog(tmp_path, 200, ALL)
    log.write({"launches": 300, "steps": 2400, "loss": 2.0})
    log.close()
    assert rows_of(tmp_path) == [(100, 1.0), (200, 1.0), (300, 2.0)]


def test_new_run_starts_anew(tmp_path):
    for loss in (1.0, 2.0):
        log = RunLog(tmp_path, columns=ALL)
        log.write({"launches": 1, "steps": 8, "loss": loss})
        log.close()
    assert rows_of(tmp_path) == [(1, 2.0)]
    assert scalars(tmp_path) == [(8, "time/launches", 1.0), (8, "train/loss", 2.0)]


def test_summary(tmp_path):
    write_summary(tmp_path, {"env": "X", "mean_return": float("nan"), "cycles": None, "steps": 3})
    text = (tmp_path / "summary.json").read_text()
    assert json.loads(text) == {"env": "X", "mean_return": None, "cycles": None, "steps": 3}


@pytest.mark.parametrize("count", [0, 1, 30])
def test_plot_is_an_image(tmp_path, count):
    log = RunLog(tmp_path, columns=ALL)
    for i in range(count):
        evaluation = float(i) if i % 3 == 0 else None
        log.write(
            {"launches": i, "steps": 8 * i, "return_mean": i, "evaluation_return": evaluation}
        )
    log.close()
    path = plot_returns(tmp_path, title="dqn on X", threshold=20)
    assert path == tmp_path / "returns.png"
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG") and content.endswith(b"IEND\xaeB\x60\x82")
    from matplotlib.image import imread

    assert np.ptp(imread(path)) > 0


@pytest.mark.parametrize("threshold, levels", [(None, []), (0.0, [0.0]), (-2.5, [-2.5])])
def test_what_a_plot_shows(tmp_path, monkeypatch, threshold, levels):
    """Returns over environment steps, where there is one, zero too; the threshold."""
    log = RunLog(tmp_path, columns=ALL)
    returns = [(1.5, None), (0.0, -3.0), (None, 0.0), (4.0, None)]
    for i, (mean, evaluation) in enumerate(returns, 1):
        row = {"launches": i, "steps": 8 * i, "return_mean": mean, "evaluation_return": evaluation}
        log.write(row)
    log.close()
    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *_, **__: drawn.append(self))
    plot_returns(tmp_path, title="dqn on X", threshold=threshold)
    (axes,) = drawn[0].axes
    actors, greedy, *lines = axes.lines
    assert list(zip(*actors.get_data(), strict=True)) == [(8, 1.5), (16, 0), (32, 4)]
    assert list(zip(*greedy.get_data(), strict=True)) == [(16, -3), (24, 0)]
    assert [line.get_ydata()[0] for line in lines] == levels
    labels = ["actors, mean of 100 episodes", "greedy evaluation"]
    labels += [f"solved ({level:g})" for level in levels]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == labels
    words = axes.get_title(), axes.get_xlabel(), axes.get_ylabel()
    assert words == ("dqn on X", "environment steps", "return")


def test_values_that_are_zero_are_shown(tmp_path):
    """In both; and a rate of steps where there are seconds to divide by."""
    log = RunLog(tmp_path, columns=ALL)
    log.write({"launches": 1, "steps": 0, "loss": 0.0, "fill": 0, "seconds": 2.0})
    log.write({"launches": 2, "steps": 8, "loss": -1.0, "seconds": 0.0})
    log.close()
    one, two = read_progress(tmp_path)
    assert (one["loss"], one["fill"], one["steps"], two["seconds"]) == (0, 0, 0, 0)
    found = scalars(tmp_path)
    assert {(0, "train/loss", 0.0), (0, "card/fill", 0.0), (8, "time/time_elapsed", 0.0)} <= {
        *found
    }
    assert not [tag for _, tag, _ in found if tag == "time/fps"]


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_numbers_that_are_not_finite(tmp_path, value):
    """Null in the summary, which is JSON; themselves in the rows, not the end of a resumed run."""
    write_summary(tmp_path, {"mean_return": value, "whole": 3, "word": "x", "zero": 0.0})
    found = json.loads((tmp_path / "summary.json").read_text())
    assert found == {"mean_return": None, "whole": 3, "word": "x", "zero": 0.0}
    log = RunLog(tmp_path, columns=("launches", "steps", "loss"))
    log.write({"launches": 1, "steps": 8, "loss": value})
    log.close()
    np.testing.assert_equal(read_progress(tmp_path)[0]["loss"], value)


def test_what_was_kept_is_known(tmp_path):
    """The last row's launches, None of a new run; a row with a column that was added is kept."""
    log = RunLog(tmp_path, columns=("launches", "steps", "loss"))
    assert log.launches is None
    for launches in (10, 20, 30):
        log.write({"launches": launches, "steps": 8 * launches, "loss": 1.0})
    log.close()
    again = [RunLog(tmp_path, n, ("launches", "steps")).launches for n in (25, 20, 5)]
    assert again == [20, 20, None]


def test_a_resumed_run_keeps_its_events(tmp_path):
    old = tmp_path / "tensorboard" / "events.out.tfevents.1.here"
    old.parent.mkdir()
    old.touch()
    for launches in (5, 0):
        RunLog(tmp_path, launches).close()
        assert old.exists() == (launches > 0)


def test_a_row_whose_last_number_is_cut_off(tmp_path):
    """It has all of its columns, but may have lost digits: a resumed run writes behind whole rows
    only."""
    log = RunLog(tmp_path, columns=("launches", "steps", "loss"))
    for launches in (1, 2):
        log.write({"launches": launches, "steps": 8, "loss": 0.125})
    log.close()
    path = tmp_path / "progress.csv"
    path.write_bytes(path.read_bytes()[:-3])  # 0.1
    assert rows_of(tmp_path) == [(1, 0.125)]
    log = RunLog(tmp_path, 2, ("launches", "steps", "loss"))
    log.write({"launches": 3, "steps": 16, "loss": 0.5})
    log.close()
    assert rows_of(tmp_path) == [(1, 0.125), (3, 0.5)]


@pytest.mark.parametrize("left", ["", "12.5,0,1,no", None])
def test_a_loss_stands_in_a_line_of_its_own(tmp_path, left):
    """Whatever a crash has left of the last one, or of the first."""
    said = ActorLog(tmp_path, Console(quiet=True))
    path, loss = tmp_path / "actors.csv", ActorLoss("killed", "gone")
    if left is None:
        path.write_text("time,st")
    else:
        said(0, "here", loss, "text")
        with path.open("a") as file:
            file.write(left)
    said(1, "there", loss, "text")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["actor"] for row in rows] == ["0"] * (left is not None) + ["1"]
    assert rows[-1]["where"] == "there" and rows[-1]["text"] == "gone"


def test_a_home_that_must_not_be_entered(tmp_path, monkeypatch):
    """As root's is for others: matplotlib gets another folder."""

    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    monkeypatch.setattr(type(tmp_path), "exists", refused)
    monkeypatch.setattr(run_log.os, "access", lambda *_: False)
    monkeypatch.setattr(run_log, "process_folder", lambda: tmp_path / "folder")
    run_log._give_matplotlib_a_folder()
    assert os.environ["MPLCONFIGDIR"] == str(tmp_path / "folder")
    monkeypatch.setenv("MPLCONFIGDIR", "the user's")
    run_log._give_matplotlib_a_folder()
    assert os.environ["MPLCONFIGDIR"] == "the user's"


def test_what_ends_by_a_stop_is_no_loss(tmp_path, capsys):
    """The user has ended the actors, too: no line, no row."""
    said, loss = ActorLog(tmp_path, Console()), ActorLoss("killed", "gone")
    said.stop = []
    said(0, "here", loss, "before")
    said.stop.append("SIGTERM")
    said(1, "here", loss, "after")
    assert capsys.readouterr().out == "before\n"
    assert len((tmp_path / "actors.csv").read_text().splitlines()) == 2
