"""The measurements of the benches: ``docs/results/NAME.json``, one file for each bench.

A file is a list of measurements, each with its commit, its date and its rows. A new measurement
replaces the rows that it has measured again; other rows (areas without ``--area``, a peer that is
not installed) stay where they were. So a bench, or a part of it, can be measured again by itself.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from bench.provenance import commit_for, now
from host.checkpoint import write_text

__all__ = ["FOLDER", "Results", "keep", "kept", "names"]

FOLDER = Path(__file__).parents[1] / "docs" / "results"

#: If two rows have the same values of these, they are the same row, measured twice.
_KEY = ("case", "metric", "reference", "source")


def names(folder=FOLDER):
    """The benches that have a file."""
    return sorted(path.stem for path in Path(folder).glob("*.json"))


def kept(name, folder=FOLDER):
    """The list of measurements of the bench ``name``, the latest last: dicts of ``commit``,
    ``date`` and ``rows``. Empty if the bench has no file."""
    path = Path(folder) / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def keep(name, rows, folder=FOLDER, *, made=None, fresh=False):
    """Writes ``rows`` of the bench ``name`` into its file in ``folder``, as a measurement of now,
    or of ``made``, a pair (commit, date).

    Rows of earlier measurements are removed if ``rows`` has them again, and with ``fresh`` all of
    them are. Returns the number of earlier rows that stay.

    UsageError as in ``bench.provenance.commit_for``, before anything is written.
    """
    anew = {_key(row) for row in rows}
    earlier = [] if fresh else kept(name, folder)
    for each in earlier:
        each["rows"] = [row for row in each["rows"] if _key(row) not in anew]
    earlier = [each for each in earlier if each["rows"]]
    name_of_commit, date = made or (commit_for(folder), now())
    latest = {"commit": name_of_commit, "date": date, "rows": list(rows)}
    path = Path(folder) / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = _text([*earlier, latest])
    write_text(path, text)
    return sum(len(each["rows"]) for each in earlier)


def _key(row):
    return tuple(row[name] for name in _KEY)


def _text(measurements):
    """JSON with a line for each row, so that a difference shows which rows are new."""
    parts = []
    for each in measurements:
        head = json.dumps({"commit": each["commit"], "date": each["date"]})[:-1]
        rows = ",\n".join(f"  {json.dumps(row)}" for row in each["rows"])
        parts.append(f'{head}, "rows": [\n{rows}\n]}}')
    return "[" + ",\n".join(parts) + "]\n"


@dataclass(frozen=True)
class Results:
    """Looks up rows of a bench.

    Parameters
    ----------
    name : str
        The bench.
    rows : tuple of dict
        The rows of all its measurements, the latest last, each with the ``commit`` and the
        ``date`` of its measurement.
    """

    name: str
    rows: tuple

    @classmethod
    def of(cls, name, folder=FOLDER):
        rows = (
            row | {"commit": each["commit"], "date": each["date"]}
            for each in kept(name, folder)
            for row in each["rows"]
        )
        return cls(name, tuple(rows))

    def row(self, case, metric, *, reference=None, source=""):
        """The latest row of ``case`` and ``metric``; KeyError if there is none.

        ``reference``, if given, must be the beginning of the row's reference, and ``source`` must
        be a part of the row's source.
        """
        for row in reversed(self.rows):
            if (
                (row["case"], row["metric"]) == (case, metric)
                and (reference is None or (row["reference"] or "").startswith(reference))
                and source in row["source"]
            ):
                return row
        raise KeyError(f"{self.name} must have a row of {metric} of {case!r}, {reference!r}")

    def value(self, case, metric, **which):
        return self.row(case, metric, **which)["value"]

    def beside(self, case, metric, **which):
        """The ``reference_value`` of the row that ``row`` finds with the same arguments."""
        return self.row(case, metric, **which)["reference_value"]
