"""Measures what the README claims: each of ``BENCHES`` is a module here with ``rows(area)``.

A row is a dict: bench, case, metric, value, unit, reference, reference_value, source. Training to a
solution takes hours, and is in ``bench.learning``.
"""

import sys
import time
from statistics import median

from hw.extras import install

__all__ = ["BENCHES", "left_out", "medians", "row"]

BENCHES = (
    "actors",
    "bitstreams",
    "compose",
    "explore",
    "fa3c",
    "fixar",
    "gae",
    "host",
    "learner",
    "loop",
    "machine",
    "play",
    "profile",
    "replay",
    "sb3",
    "solve",
    "tasks",
    "units",
)


def row(bench, case, metric, value, unit, *, reference=None, reference_value=None, source):
    """A row of results, a dict with these arguments as its keys.

    ``bench`` is the bench's name, ``case`` what was measured, ``metric`` which of its numbers.
    ``value`` is in ``unit``, and ``source`` says how it was obtained. ``reference_value`` is a
    number to compare ``value`` with, such as a paper's or a limit; ``reference`` says where that is
    from.
    """
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


def left_out(name, error, extra):
    """Prints on stderr that ``name`` has no rows, the ImportError ``error``, and how ``extra`` is
    installed."""
    print(f"{name} is left out: {error} ({install(extra)})", file=sys.stderr)


def medians(functions, *, rounds=15, calls=20, clock=time.perf_counter):
    """``{name: seconds a call}`` of ``functions``, ``{name: function without arguments}``.

    Each function is first called once. Then there are ``rounds`` rounds: in each, every function in
    turn is called ``calls`` times, so that other work of the machine slows all of them. The result
    is the median over the rounds. ``clock`` returns the present time in seconds.
    """
    times = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(rounds):
        for name, function in functions.items():
            start = clock()
            for _ in range(calls):
                function()
            times[name].append((clock() - start) / calls)
    return {name: median(each) for name, each in times.items()}
