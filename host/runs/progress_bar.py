"""Shows how far a run has come: with a bar on a terminal, with a line now and then in a log."""

import time
from datetime import timedelta

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

__all__ = ["ProgressLines", "progress_bar"]


def progress_bar(console):
    """A ``rich.progress.Progress`` for one task, which counts environment steps; the task's field
    ``state`` is a text at the right of the bar, followed by ``part``, an evaluation's progress.

    If the console cannot overwrite its output, as in a file or a CI's log, ProgressLines is
    returned instead.
    """
    if not (console.is_interactive or console.is_jupyter):
        return ProgressLines(console)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[state]}{task.fields[part]}"),
        console=console,
    )


class ProgressLines:
    """The part of ``rich.progress.Progress`` that a run of one task uses, printed in lines.

    An update prints a line if it is the first one, if it has a new description, or if ``every_s``
    seconds have passed since the last line. The end of the ``with`` block prints a last line. A
    line is left out if description and number of steps are those of the line before.

    Parameters
    ----------
    console : rich.console.Console
        Where the lines are printed.
    every_s : float
        Least time between two lines with the same description, except for the last line.
    clock : callable
        Returns seconds since some moment.
    """

    def __init__(self, console, every_s=5.0, clock=time.monotonic):
        self._console, self._every_s, self._clock = console, every_s, clock
        self._started = clock()
        self._printed_at = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._print()

    def add_task(self, description, *, total, state="", part=""):
        self._task = dict(description=description, completed=0, total=total, state=state, part=part)
        self._printed = self._place
        return 0

    def update(self, task, **changes):
        """Takes new values of ``completed`` (environment steps), ``state`` or ``description``, and
        prints a line if one is due. ``task`` is ignored: there is one task."""
        named = changes.get("description", self._task["description"]) != self._task["description"]
        self._task |= changes
        if named or self._printed_at is None or self._clock() - self._printed_at >= self._every_s:
            self._print()

    @property
    def _place(self):
        return self._task["description"], self._task["completed"], self._task["part"]

    def _print(self):
        """Prints how far the task is, and its state. If only the state has changed since the last
        line, as after the final evaluation, nothing is printed."""
        if self._place == self._printed:
            return
        completed, total = self._task["completed"], self._task["total"]
        elapsed = timedelta(seconds=int(self._clock() - self._started))
        text = (
            f"{self._task['description']}: step {completed} of at least {total} "
            f"({min(100, 100 * completed // total)} %), {elapsed}, {self._task['state']}"
            f"{self._task['part']}"
        )
        self._console.print(text, soft_wrap=True, markup=False, highlight=False)
        self._printed, self._printed_at = self._place, self._clock()
