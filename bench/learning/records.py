"""What a run has left, as it is kept with the claims: ``docs/learning/runs/CLAIM/KIND-SEED.json``.

A record is the run's result: what it was asked for, its return, its counts and its progress, with
the commits and the date that made it. Claims are judged by records alone, so that a fresh clone
judges as the machine did that trained. A run that is not finished has one too, and counts for
nothing.
"""

import json
from pathlib import Path

from bench.learning.changes import CHANGES
from host.checkpoint import write_text

__all__ = ["differences", "keep", "lines", "read"]

#: Points of a curve that are kept at most, and digits of a number.
_POINTS, _DIGITS = 2000, 6


def _path(folder, job):
    return Path(folder) / "runs" / f"{job.name}.json"


def read(folder, job):
    """A job's record below ``docs/learning``, or None."""
    path = _path(folder, job)
    return json.loads(path.read_text()) if path.exists() else None


def keep(folder, job, result):
    """Write the record of what ``job.result`` or ``job.so_far`` says, if it says something else
    than the one that is there. A run that is not finished never takes a finished one's place."""
    before = read(folder, job)
    if before and result.get("unfinished") and not before.get("unfinished"):
        return
    values = {**result, "curve": _thinned(result["curve"])}
    path = _path(folder, job)
    text = lines(values)
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)


def _thinned(curve):
    """None stays None: the progress of a run that was not kept."""
    if not curve:
        return curve
    step = -(-len(curve) // _POINTS)
    points = [*curve[:-1][::step], curve[-1]]
    return [[steps, float(f"{value:.{_DIGITS}g}")] for steps, value in points]


def lines(values):
    """JSON, a line for each name."""
    each = (f" {json.dumps(name)}: {json.dumps(value)}" for name, value in values.items())
    return "{\n" + ",\n".join(each) + "\n}\n"


def differences(record, job):
    """Texts that say in what a record's run is another than ``job``, which is today's: fields whose
    defaults or values have changed since, and ``CHANGES`` that no field shows."""
    then, today = _flat(record["asked"]), _flat(job.asked)
    found = [
        f"`{name}` was {_shown(then[name])}, and is {_shown(today[name])}"
        if name in today
        else f"`{name}` was {_shown(then[name])}, and is no field any more"
        for name in then
        if name not in today or then[name] != today[name]
    ]
    return found + [change.what for change in CHANGES if change.is_after(record)]


def _flat(values, prefix=""):
    """``{path: value}`` of nested values; those of the config by their own names."""
    found = {}
    for name, value in values.items():
        if isinstance(value, dict):
            own = "" if name in ("config", "agent") else f"{prefix}{name}."
            found |= _flat(value, own)
        else:
            found[f"{prefix}{name}"] = value
    return found


def _shown(value):
    return "nothing" if value is None else json.dumps(value)
