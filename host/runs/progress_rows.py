"""Rows of progress.csv: means of numbers measured since the last row, and present numbers."""

import time
from collections import defaultdict

import numpy as np

from host.phases import PHASES
from host.runs.run_log import RunLog
from host.runs.scores import mean_of

__all__ = ["Rows"]

#: columns of all learners
_SHARED = (
    "launches",
    "steps",
    "episodes",
    "seconds",
    "return_mean",
    "length_mean",
    "evaluation_return",
    "device_cycles",
    *(f"seconds_{name}" for name in PHASES),
)


class Rows:
    """Collects the numbers for the rows of progress.csv, and writes the rows.

    Parameters
    ----------
    session : Session
        The run, whose counts the rows have.
    scores : Scores
        Gives the returns.
    records : Records
        Writes the rows into its log, which ``begin`` opens.

    Attributes
    ----------
    seconds : float
        Training time, resumed runs added up.
    device_cycles : int or None
        Clocks of the card, resumed runs added up; None on a card that does not count.
    """

    def __init__(self, session, scores, records):
        self._session, self._scores, self._records = session, scores, records
        self._seconds, self._cycles, self._started = 0.0, 0, time.perf_counter()
        self._measured, self._logged = defaultdict(list), None

    def begin(self):
        """Opens the log of the run. If the run is resumed, rows of launches after the checkpoint
        are dropped."""
        session = self._session
        with session.phases("records"):
            log = RunLog(self._records.out, session.launches, _SHARED + session.columns)
        self._records.log, self._logged = log, log.launches

    def measure(self, measured):
        """Adds the numbers of an iteration, a dict of column -> number or None; None is not
        counted."""
        for name, value in measured.items():
            if value is not None:
                self._measured[name].append(value)

    @property
    def seconds(self):
        return self._seconds + time.perf_counter() - self._started

    @property
    def device_cycles(self):
        cycles = self._session.device_cycles
        return None if cycles is None else self._cycles + cycles

    @property
    def phases(self):
        """Seconds by phase, rounded."""
        return {name: round(value, 3) for name, value in self._session.phases.seconds.items()}

    def write(self):
        """Writes a row with the means of all numbers since the last row. Does nothing if the last
        row is of the present launch and there was no evaluation since."""
        session, scores = self._session, self._scores
        if self._logged == session.launches and scores.evaluation is None:
            return
        with session.phases("records"):
            self._records.row(
                {
                    "launches": session.launches,
                    "steps": session.clock.steps,
                    "episodes": scores.episodes,
                    "seconds": round(self.seconds, 3),
                    "return_mean": mean_of(scores.returns),
                    "length_mean": mean_of(scores.lengths),
                    "evaluation_return": scores.evaluation,
                    **{name: mean_of(values) for name, values in self._measured.items()},
                    **session.progress(),
                    "device_cycles": self.device_cycles,
                    **{f"seconds_{name}": value for name, value in self.phases.items()},
                }
            )
        scores.evaluation, self._logged = None, session.launches
        self._measured.clear()

    def forget(self, cycles):
        """Subtracts ``cycles``, clocks of the card that do not belong to the run, from
        ``device_cycles``."""
        self._cycles -= cycles

    def state_dict(self):
        measured = {name: np.array(values) for name, values in self._measured.items()}
        counted = {"seconds": self.seconds, "device_cycles": self.device_cycles}
        return counted | {"measured": measured}

    def load_state_dict(self, state):
        self._seconds, self._cycles = state["seconds"], state["device_cycles"] or 0
        for name, values in state.get("measured", {}).items():  # older checkpoints have none
            self._measured[name] = values.tolist()
