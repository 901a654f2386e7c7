"""Processor seconds and environment steps until a task is solved, by rlfabric and its peers.

``python -m bench solve`` runs the seeds that have no record in ``docs/results/solve`` yet, and
makes rows of the records. Tasks, sides and numbers are in ``sides``, the rule in ``trial``.
"""

from math import inf
from statistics import median

from bench import row
from bench.solve.seed_records import RECORDS, read
from bench.solve.sides import SIDES, TASKS, request

__all__ = ["BAR", "SEEDS", "STEPS_BAR", "rows"]

#: Seeds of a side, and the tasks of stable-baselines3 in which rlfabric must be ahead of it.
SEEDS, BAR = 10, 5
#: Most environment steps of the defaults, as a multiple of the best peer's with its own numbers.
STEPS_BAR = 1.5
_THEIR_OWN = ("sb3-zoo", "rltools")

_COUNTED = {"steps": "environment steps", "updates": "gradient steps", "seconds": "s"}


def rows(area=False, folder=RECORDS, tasks=TASKS):
    """The list of rows of the records in ``folder``, for each side of each task that has some:
    ``seeds_solved``; ``steps``, ``updates`` and ``seconds`` when the task was solved, as median,
    ``_least`` and ``_most`` of all seeds, where a seed that was not solved counts as infinite, and
    the row's value is None if that is infinite; ``steps_allowed``; ``start_seconds``, median.

    ``times`` is the seconds of stable-baselines3 with equal draws over ours, None if a side
    has no median; ``ahead`` counts the tasks where ours is less. ``steps_over_peers`` is our steps,
    as shipped, over the fewest of the peers with numbers of their own; None without both. Nothing
    is run, and ``area`` adds nothing.
    """
    result, ahead, beside = [], 0, 0
    for task in tasks:
        found = {side: read(task, side, request(task, side), folder) for side in task.sides}
        found = {side: [*records.values()] for side, records in found.items() if records}
        for side, records in found.items():
            result += _rows_of(f"{task.algo} on {task.env}, {SIDES[side]}", records)
        ours = "own-equal" if "own-equal" in task.sides else "own"
        if ours in found and "sb3-equal" in found:
            own, theirs = (_median(found[side], "seconds") for side in (ours, "sb3-equal"))
            beside += 1
            ahead += own < theirs
            times = round(theirs / own, 2) if max(own, theirs) < inf else None
            seeds = f"medians of {len(found[ours])} and {len(found['sb3-equal'])} seeds"
            result.append(
                row("solve", f"{task.algo} on {task.env}", "times", times, "times",
                    reference="stable-baselines3, equal draws, over rlfabric, at least",
                    reference_value=1, source=seeds)
            )  # fmt: skip
        if "own" in found and not found.keys().isdisjoint(_THEIR_OWN):
            result.append(_steps_over_peers(f"{task.algo} on {task.env}", found))
    if beside:
        result.append(
            row("solve", "tasks of stable-baselines3", "ahead", ahead, "tasks",
                reference=f"bar, at least; {beside} tasks have records", reference_value=BAR,
                source="median seconds, equal draws; not solved is slower than solved")
        )  # fmt: skip
    return result


def _rows_of(case, records):
    commits = ", ".join(dict.fromkeys(str(record["commit"]) for record in records))
    source = f"{len(records)} of {SEEDS} seeds, at commits {commits}"
    solved = sum(record["solved"] for record in records)

    def of(metric, value, unit, reference=None, beside=None):
        return row("solve", case, metric, value, unit, reference=reference,
                   reference_value=beside, source=source)  # fmt: skip

    yield of("seeds_solved", solved, "seeds", "seeds run", len(records))
    for name, unit in _COUNTED.items():
        values = _values(records, name)
        for metric, value in {
            name: median(values),
            f"{name}_least": min(values),
            f"{name}_most": max(values),
        }.items():
            yield of(metric, round(value, 2) if value < inf else None, unit)
    yield of("steps_allowed", max(_allowed(record) for record in records), "environment steps")
    yield of("start_seconds", round(median(each["start_seconds"] for each in records), 2), "s")


def _steps_over_peers(case, found):
    peers = {side: _median(found[side], "steps") for side in _THEIR_OWN if side in found}
    best = min(peers, key=peers.get)
    own, theirs = _median(found["own"], "steps"), peers[best]
    times = round(own / theirs, 2) if max(own, theirs) < inf else None
    return row("solve", case, "steps_over_peers", times, "times",
               reference=f"bar, at most; {SIDES[best]}, has the fewest steps",
               reference_value=STEPS_BAR,
               source=f"medians of {len(found['own'])} and {len(found[best])} seeds")  # fmt: skip


def _values(records, name):
    return [record[name] if record["solved"] else inf for record in records]


def _median(records, name):
    return median(_values(records, name))


def _allowed(record):
    """Environment steps within which a seed was, or could have been, solved."""
    asked = record["asked"]
    run = asked.get("config") or asked.get("plan") or asked
    return record["steps"] if record["ended"] == "time" else run["steps"]
