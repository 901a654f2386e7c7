"""What ``rlfabric compose --times`` does: PEARL's Algorithm 1 with times that are given."""

from host.compose.assignment import Sizes, assign, document, text_of
from host.compose.compose_view import drawn, show
from host.compose.times import Times
from hw.errors import UsageError

__all__ = ["by_times"]


def by_times(algo, machine, times, *, transfers, metric, **sizes):
    """``(text, draw, show)``: the assignment as JSON, and functions without arguments that give its
    picture and print it.

    ``times`` is the path of a CSV file; ``sizes`` are the fields of ``Sizes``, None where they were
    not given. UsageError for whatever is wrong.
    """
    _check_algorithm(algo)
    for name, value in sizes.items():
        if value is None:
            raise UsageError(f"{name} must be given with times, not absent")
    read = Times.read(times, machine)
    found = assign(read, Sizes(**sizes), transfers=transfers, metric=metric)
    return text_of(document(algo, found)), lambda: drawn(algo, found), lambda: show(algo, found)


def _check_algorithm(name):
    """UsageError unless ``name`` is that of an algorithm with a replay memory."""
    from host.agents.registry import find_named

    source = find_named(name).learns_from
    if source != "replay":
        raise UsageError(f"ALGO must learn from replay, not from {source} as {name} does")
