"""Records of runs, which are kept with the claims: ``docs/learning/runs/CLAIM/KIND-SEED.json``.

A record is the run's result: its request, its return, its counts and its progress, with its commits
and its date. Claims are judged by records alone, so that a fresh clone judges as the machine that
trained. An unfinished run has a record too, which does not count.
"""

import json
from pathlib import Path

from bench.learning.changes import CHANGES
from host.checkpoint import write_text

__all__ = ["differences", "keep", "lines", "read"]

#: Most points of a curve, and digits of a number.
_POINTS, _DIGITS = 2000, 6


def _path(folder, job):
    return Path(folder) / "runs" / f"{job.name}.json"


def read(folder, job):
    """The record of ``job`` below ``folder``, which is docs/learning, as a dict; None without
    one."""
    path = _path(folder, job)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def keep(folder, job, result):
    """Writes the record of ``job`` below ``folder``, if it differs from the existing record.

    ``result`` is ``job.result`` or ``job.so_far``. Its curve is thinned to about 2000 points. The
    record of an unfinished run never replaces that of a finished one.
    """
    before = read(folder, job)
    if before and result.get("unfinished") and not before.get("unfinished"):
        return
    values = {**result, "curve": _thinned(result["curve"])}
    path = _path(folder, job)
    text = lines(values)
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)


def _thinned(curve):
    """The curve with fewer points; None, of a run whose progress was not kept, stays None."""
    if not curve:
        return curve
    step = -(-len(curve) // _POINTS)
    points = [*curve[:-1][::step], curve[-1]]
    return [[steps, float(f"{value:.{_DIGITS}g}")] for steps, value in points]


def lines(values):
    """The JSON text of the dict ``values``, with a line for each of its names."""
    each = (f" {json.dumps(name)}: {json.dumps(value)}" for name, value in values.items())
    return "{\n" + ",\n".join(each) + "\n}\n"


def differences(record, job):
    """A list of texts that say how the run of ``record`` differs from ``job``, the same run as it
    would be made today.

    They name the fields whose values have changed since then, and those of ``CHANGES`` that no
    field shows. Fields that are new since then are not named.
    """
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
