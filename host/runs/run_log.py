"""Writes files of a run: progress.csv, actors.csv, events of TensorBoard, summary.json, a plot."""

import csv
import io
import json
import os
import time
from contextlib import closing
from pathlib import Path

from host.actors.actor_collectors import COLUMNS as ACTOR_COLUMNS
from host.checkpoint import atomic_write, write_text
from host.phases import ACTORS, PHASES
from host.runs.event_file import EventFile
from host.runs.run_folder import LOSSES
from hw.extras import needed
from system.cache import say
from system.disk import process_folder

__all__ = [
    "ActorLog",
    "COLUMNS",
    "RunLog",
    "TAGS",
    "plot_returns",
    "read_progress",
    "write_summary",
]

#: Columns of progress.csv and their meanings, of all runs and learners; an algorithm adds its own
#: (``Algorithm.columns``). An empty cell means that there was no value.
COLUMNS = {
    "launches": "learner iterations, each one launch on the card",
    "steps": "environment steps, all actors together",
    "episodes": "episodes that actors finished",
    "seconds": "training time, resumed runs added up",
    "return_mean": "mean return of the actors' last 100 episodes, in which they explore",
    "length_mean": "mean length of those episodes",
    "evaluation_return": "mean return of the greedy evaluation at this row",
    "td_error": "mean absolute TD error since the last row",
    "exploration": "chance of a random action, or deviation of an action's noise",
    "beta": "exponent of the importance weights",
    "learning_rate": "step size",
    "fill": "experiences in the buffer",
    "clipped_priorities": "priorities clipped to the largest, since the start or --resume",
    "device_cycles": "clocks of the card so far",
    "clipped_weights": "weights that a fixed-point learner on the card has clipped so far",
    "clipped_activations": "activations that it has clipped so far",
    "clipped_gradients": "gradients that it has clipped so far",
    "reward_mean": "mean by which rewards were standardized",
    "reward_deviation": "deviation by which rewards were standardized",
    "value_mean": "mean by which values were standardized",
    "value_deviation": "deviation by which values were standardized",
    "clipped": "codes that the card has clipped in a launch",
    "saturated": "slots in which the card has clipped a result in a launch",
    **ACTOR_COLUMNS,
    **{
        f"seconds_{name}": f"of the seconds so far: {what}"
        for name, what in (PHASES | ACTORS).items()
    },
}

#: column -> its tag in TensorBoard, in stable-baselines3's groups, and with stable-baselines3's
#: name if it has the same quantity
TAGS = {
    "return_mean": "rollout/ep_rew_mean",
    "length_mean": "rollout/ep_len_mean",
    "exploration": "rollout/exploration_rate",
    "evaluation_return": "eval/mean_reward",
    "launches": "time/launches",
    "episodes": "time/episodes",
    "seconds": "time/time_elapsed",
    "policy_loss": "train/policy_gradient_loss",
    "kl": "train/approx_kl",
    "fill": "card/fill",
    "clipped_priorities": "card/clipped_priorities",
    "device_cycles": "card/device_cycles",
    "clipped_weights": "card/clipped_weights",
    "clipped_activations": "card/clipped_activations",
    "clipped_gradients": "card/clipped_gradients",
    "clipped": "card/clipped",
    "saturated": "card/saturated",
    "reward_mean": "card/reward_mean",
    "reward_deviation": "card/reward_deviation",
    "value_mean": "card/value_mean",
    "value_deviation": "card/value_deviation",
}


def _scalars(row):
    """``(tag, value)`` of a row; columns without a tag are ``train/...``, seconds ``time/...``."""
    for name, value in row.items():
        if value is not None and name != "steps":
            group = "time" if name.startswith("seconds") else "train"
            yield TAGS.get(name, f"{group}/{name}"), value
    if row.get("steps") and row.get("seconds"):
        yield "time/fps", row["steps"] / row["seconds"]


class RunLog:
    """Appends rows to ``progress.csv`` and to TensorBoard events under ``tensorboard/``, whose
    x axis is environment steps.

    Parameters
    ----------
    out : path
        Directory, which must exist.
    launches : int
        Launches of the run so far. 0: an earlier log is replaced. Else it is continued, without
        the rows of later launches, which a run may have written after its last checkpoint.
    columns : collection of str
        Columns of the rows, of COLUMNS or an algorithm's own, in any order.

    Attributes
    ----------
    launches : int or None
        ``launches`` of the last row that was kept; None if no row was kept.
    """

    def __init__(self, out, launches=0, columns=tuple(COLUMNS)):
        out = Path(out)
        self._columns = [name for name in COLUMNS if name in columns]
        self._columns += [name for name in columns if name not in COLUMNS]
        self._path = out / "progress.csv"
        rows = read_progress(out) if launches and self._path.exists() else []
        kept = [row for row in rows if row["launches"] <= launches]
        self.launches = kept[-1]["launches"] if kept else None
        text = io.StringIO()
        # Columns that somebody has added to the file are ignored.
        ours = dict(fieldnames=self._columns, extrasaction="ignore", lineterminator="\n")
        writer = csv.DictWriter(text, **ours)
        writer.writeheader()
        writer.writerows(kept)
        write_text(self._path, text.getvalue())
        self._file = self._path.open("a", newline="", encoding="utf-8")
        self._writer = csv.DictWriter(self._file, **ours)
        events = out / "tensorboard"
        if not launches and events.is_dir():
            for old in events.glob("events.out.tfevents.*"):
                old.unlink()
        self._events = EventFile(events, purge_step=1 + kept[-1]["steps"] if kept else None)

    def write(self, row):
        """Writes a row, a dict of column -> number, to both files. A column that is None or absent
        is an empty cell and no event; ``steps`` must be given."""
        row = {name: row.get(name) for name in self._columns}
        self._writer.writerow(row)
        self._file.flush()
        for tag, value in _scalars(row):
            self._events.add_scalar(tag, value, row["steps"])
        self._events.flush()

    def close(self):
        with closing(self._events):
            self._file.close()


def read_progress(out):
    """The rows of ``progress.csv`` in the folder ``out``: a list of dicts, column -> number, or
    None for an empty cell. A row that was cut off while it was written is left out, also one whose
    last number may have lost digits: its line has no end."""
    with (Path(out) / "progress.csv").open(newline="", encoding="utf-8") as file:
        rows = []
        for row in csv.DictReader(line for line in file if line.endswith("\n")):
            if None in row or None in row.values():
                continue
            rows.append({name: _number(cell) for name, cell in row.items()})
        return rows


def _number(cell):
    if cell == "":
        return None
    return float(cell) if set(cell) & set(".en") else int(cell)


def write_summary(out, summary):
    """Writes the dict ``summary`` to ``summary.json`` in the folder ``out``, atomically; floats
    that are not finite become null."""
    plain = {
        name: None if isinstance(value, float) and value - value != 0 else value
        for name, value in summary.items()
    }
    write_text(Path(out) / "summary.json", json.dumps(plain, indent=2) + "\n")


def plot_returns(out, *, title, threshold=None):
    """Draws ``returns.png`` from ``progress.csv``, both in the folder ``out``: mean returns of
    actors and of greedy evaluations over environment steps, and a line at ``threshold`` unless it
    is None.

    ``title`` stands above them. Returns the picture's path. MissingTool without matplotlib.
    """
    _give_matplotlib_a_folder()
    figures = needed("matplotlib.figure", "plot", "to draw returns.png")
    rows = read_progress(out)
    figure = figures.Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    curves = {
        "return_mean": ("actors, mean of 100 episodes", "-"),
        "evaluation_return": ("greedy evaluation", "o-"),
    }
    for name, (label, style) in curves.items():
        points = [(row["steps"], row[name]) for row in rows if row[name] is not None]
        axes.plot(*zip(*points, strict=True) if points else ([], []), style, ms=4, label=label)
    if threshold is not None:
        axes.axhline(threshold, color="gray", ls="--", lw=1, label=f"solved ({threshold:g})")
    axes.set(title=title, xlabel="environment steps", ylabel="return")
    axes.legend(loc="best")
    axes.grid(alpha=0.3)
    path = Path(out) / "returns.png"
    atomic_write(path, lambda file: figure.savefig(file, format="png", dpi=120))
    return path


def _give_matplotlib_a_folder():
    """Without a home matplotlib would make a folder for its fonts, and say so in two lines."""
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    # Path.exists raises where a parent must not be entered, such as another user's home.
    nearest = next(each for each in (Path(config), *Path(config).parents) if os.path.exists(each))
    if "MPLCONFIGDIR" not in os.environ and not os.access(nearest, os.W_OK):
        os.environ["MPLCONFIGDIR"] = str(process_folder())


_COLUMNS = ("time", "steps", "actor", "where", "kind", "text")


class ActorLog:
    """Takes losses (``host.actors.pool.Pool``). A row that cannot be written is left out: the line
    for the user has the same.

    Parameters
    ----------
    folder : Path
        The run's folder. A resumed run appends to the file that is there.
    console : rich.console.Console
        Where the lines are printed.

    Attributes
    ----------
    clock : Clock or None
        Its ``steps`` are those of the row.
    stop : list
        If it is not empty, the user has stopped the run, and what ends by that is no loss.
    """

    def __init__(self, folder, console):
        self._path, self._console, self.clock = folder / LOSSES, console, None
        self.stop = ()

    def __call__(self, index, where, loss, text):
        if self.stop:
            return
        self._console.print(text, soft_wrap=True, markup=False, highlight=False)
        steps = 0 if self.clock is None else self.clock.steps
        row = (round(time.time(), 3), steps, index, where, loss.kind, loss.text)
        try:
            with self._path.open("a+b") as file:
                file.seek(0)
                whole = file.read().rfind(b"\n") + 1
                file.truncate(whole)  # a crash may have cut off the last row
                text = io.StringIO()
                writer = csv.writer(text, lineterminator="\n")
                writer.writerows([row] if whole else [_COLUMNS, row])
                file.write(text.getvalue().encode())
        except OSError as error:
            say(f"{self._path} could not be written ({error.strerror or error})")
