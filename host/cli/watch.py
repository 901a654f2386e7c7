"""``rlfabric watch``: returns as a curve in the terminal, while they come: of a run, by its files,
or of a board that plays, by its serial line."""

import time
from contextlib import suppress
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from host.environments.environment_id import reward_threshold
from host.runs.request import read_summary
from host.runs.run_log import read_progress
from hw.errors import UsageError
from system.disk import user_path

__all__ = ["bars", "has_ended", "picture", "watch", "watch_port"]

#: Eighths of a character, and where the terminal cannot show them.
_EIGHTHS, _PLAIN = " ▁▂▃▄▅▆▇█", " ...::###"
#: Seconds between two looks at the files; rows of a picture.
_PAUSE_S, _HEIGHT = 1.0, 10


def bars(points, width, height, low, high, eighths=_EIGHTHS):
    """``points``, pairs (x, value) with x ascending, as ``height`` lines of ``width`` characters.

    Column c has the mean of the values in its ``width``-th of the x, or the value before if it has
    none. A bar is as high as its value from ``low`` to ``high``, in eighths of a character.
    """
    first, last = points[0][0], points[-1][0]
    columns = [[] for _ in range(width)]
    for x, value in points:
        place = (x - first) * width // max(last - first, 1)
        columns[min(int(place), width - 1)].append(value)
    levels, value = [], points[0][1]
    for column in columns:
        value = sum(column) / len(column) if column else value
        share = (value - low) / (high - low) if high > low else 1.0
        levels.append(max(1, round(min(max(share, 0.0), 1.0) * 8 * height)))
    return [
        "".join(eighths[min(max(level - 8 * row, 0), 8)] for level in levels)
        for row in reversed(range(height))
    ]


def picture(rows, title, threshold=None, width=80, height=_HEIGHT, eighths=_EIGHTHS):
    """Lines of a text: a curve of the actors' returns in ``rows`` of progress.csv, from the
    least to the largest, or to ``threshold``; then the last numbers."""
    points = [(row["steps"], row["return_mean"]) for row in rows if row["return_mean"] is not None]
    if not points:
        return [f"{title}: no episode has ended"]
    values = [value for _, value in points]
    low, high = min(values), max(*values, values[0] if threshold is None else threshold)
    labels = [f"{high:.4g}", *[""] * (height - 2), f"{low:.4g}"]
    room = max(map(len, labels))
    drawn = bars(points, max(width - room - 1, 1), height, low, high, eighths)
    lines = [f"{label:>{room}} {bar}" for label, bar in zip(labels, drawn, strict=True)]
    judged = [row["evaluation_return"] for row in rows if row["evaluation_return"] is not None]
    best = f", best greedy {max(judged):.4g}" if judged else ""
    steps, episodes = rows[-1]["steps"], rows[-1]["episodes"]
    return [title, *lines, f"step {steps}, {episodes} episodes, return {values[-1]:.4g}{best}"]


def has_ended(folder):
    """Whether the run in ``folder`` has written its summary after its last row."""
    with suppress(FileNotFoundError):
        written = [(folder / name).stat().st_mtime_ns for name in ("summary.json", "progress.csv")]
        return written[0] >= written[1]
    return False


def watch(run, console=None):
    """Shows the run in the folder ``run`` until it ends, or once if ``console`` is no terminal.
    UsageError if it has no progress.csv."""
    folder, console = user_path(run), console or Console()
    if not (folder / "progress.csv").exists():
        raise UsageError(f"RUN must be a run's folder with a progress.csv, not {folder}")

    def look():
        ended = has_ended(folder)  # before the rows are read
        return ended, read_progress(folder), *_named(folder)

    _follow(look, console)


def watch_port(port, path, console=None):
    """Shows the returns of the PLAY on the board at the serial port ``port``, with the kernel.json
    at ``path``, until its launch ends, or once if ``console`` is no terminal. It only reads. Errors
    as of PlayView."""
    from host.play.play_view import PlayView  # which imports pyserial: a run's folder needs none

    path, console = user_path(path), console or Console()
    if not path.exists():
        raise UsageError(f"--kernel must be the kernel.json of the board's bitstream, not {path}")
    view = PlayView(port, path)
    count = view.environments

    def look():
        running, episodes = view.look()
        rows = [
            {
                "steps": (int(each["step"]) + 1) * count,
                "episodes": number,
                "return_mean": float(each["total"]),
                "evaluation_return": None,
            }
            for number, each in enumerate(episodes, 1)
        ]
        return not running, rows, f"the board at {port}", None

    try:
        _follow(look, console)
    finally:
        view.close()


def _follow(look, console):
    """Draws the results of ``look()``, ``(ended, rows, title, threshold)``, again and again until
    one has ended; once if ``console`` is no terminal."""
    eighths = _EIGHTHS if "utf" in console.encoding.lower() else _PLAIN

    def drawn():
        ended, rows, title, threshold = look()
        lines = picture(rows, title, threshold, console.width, eighths=eighths)
        return ended, Group(*(Text(line) for line in lines))

    if not console.is_terminal:
        console.print(drawn()[1])
        return
    with Live(console=console, auto_refresh=False) as live:
        while True:
            ended, shown = drawn()
            live.update(shown, refresh=True)
            if ended:
                return
            time.sleep(_PAUSE_S)


def _named(folder):
    """``(title, threshold)`` of the run, by the summary that its end has written."""
    if not (folder / "summary.json").exists():
        return Path(folder).name, None
    config = read_summary(folder / "summary.json", "RUN")["config"]
    with suppress(UsageError):
        return f"{config['algo']} on {config['env']}", reward_threshold(config["env"])
    return f"{config['algo']} on {config['env']}", None
