"""The actors that a run has lost: a line for the user, and a row of actors.csv, for each."""

import csv
import time

from host.runs.run_folder import LOSSES
from system.cache import say

__all__ = ["ActorLog"]

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
    """

    def __init__(self, folder, console):
        self._path, self._console, self.clock = folder / LOSSES, console, None

    def __call__(self, index, where, loss, text):
        self._console.print(text, soft_wrap=True, markup=False, highlight=False)
        steps = 0 if self.clock is None else self.clock.steps
        row = (round(time.time(), 3), steps, index, where, loss.kind, loss.text)
        try:
            new = not self._path.exists()
            with self._path.open("a", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerows([_COLUMNS, row] if new else [row])
        except OSError as error:
            say(f"{self._path} could not be written ({error.strerror or error})")
