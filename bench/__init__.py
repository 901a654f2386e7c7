"""Measures what the README claims: each of ``BENCHES`` is a module here with ``rows(area)``.

A row is a dict: bench, case, metric, value, unit, reference, reference_value, source. Training to a
solution takes hours, and is in ``bench.learning``.
"""

import time
from statistics import median

__all__ = ["BENCHES", "medians", "row"]

BENCHES = ("fa3c", "fixar", "gae", "host", "learner", "profile", "replay", "units")


def row(bench, case, metric, value, unit, *, reference=None, reference_value=None, source):
    """``source``: how the value was obtained. ``reference``: the name and the origin of the value
    beside it."""
    return {
        "bench": bench,
        "case": case,
        "metric": metric,
        "value": value,
        "unit": unit,
        "reference": reference,
        "reference_value": reference_value,
        "source": source,
    }


def medians(functions, *, rounds=15, calls=20):
    """``{name: seconds a call}`` of ``{name: function}``: the median over rounds in which the
    functions take turns, so that other work of the machine slows all of them."""
    times = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            for _ in range(calls):
                function()
            times[name].append((time.perf_counter() - start) / calls)
    return {name: median(each) for name, each in times.items()}
