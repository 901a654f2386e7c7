"""``rlfabric compose --times``: PEARL's Algorithm 1 on the times in a CSV file."""

from dataclasses import asdict
from importlib.metadata import version

from host.compose.assignment import Sizes, assign
from host.compose.compose_view import drawn_pairs, figure_of
from host.compose.plan_file import text_of
from host.compose.times import Times
from host.terminal.tables import console, table
from hw.errors import UsageError

__all__ = ["by_times", "document", "drawn", "show"]


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


def document(algo, assignment):
    """The Assignment for the algorithm called ``algo`` as a dict for JSON.

    Keys: ``version``, ``algo``, ``machine`` with ``devices`` and ``links``, ``times``, ``sizes``,
    ``transfers``, ``metric``, ``alternatives``, ``refused``, ``choice`` and ``portability``. What
    is unknown is None.
    """
    return {
        "version": version("rlfabric"),
        "algo": algo,
        **asdict(assignment),
        "times": [asdict(row) for row in assignment.times.rows],
        "refused": [each._asdict() for each in assignment.refused],
    }


def show(algo, found):
    """Prints an Assignment for the algorithm called ``algo`` as a table, with the choice first, and
    the sentences that explain it."""
    heads = ("RM", "learner", "storage", "T us", "EPS", "EPS/W", "bound by", "traffic us")
    order = sorted(found.alternatives, key=lambda each: each is not found.choice)
    rows = [
        [
            f"{'*' if each is found.choice else ' '} {each.rm}",
            each.learner,
            each.storage,
            f"{each.iteration_us:.4g}",
            figure_of(each.eps),
            figure_of(each.eps_per_watt),
            each.bound_by,
            f"{each.traffic_us:.4g}",
        ]
        for each in order
    ]
    sizes = found.sizes
    table(
        f"{algo}: equation 7 of PEARL for batches of {sizes.batch}, {sizes.inserts:g} insertions, "
        f"experiences of {sizes.words} words; transfers {found.transfers}; metric {found.metric}",
        heads,
        rows,
    )
    for line in _sentences(found):
        console.print(line, soft_wrap=True, markup=False, highlight=False)


def _sentences(found):
    choice = found.choice
    devices = (
        f"RM and learner on {choice.rm}"
        if choice.rm == choice.learner
        else f"RM on {choice.rm}, learner on {choice.learner}"
    )
    yield f"choice: {devices}, storage on {choice.storage}"
    why = " (a pair is refused)" if found.refused else ""
    yield f"portability Phi(D), equation 8: {figure_of(found.portability)} EPS{why}"
    for each in found.refused:
        yield f"not RM on {each.rm} with learner on {each.learner}: {each.reason}"
    for device in found.machine.devices:
        yield f"{device.name}: {device.source}"


def drawn(algo, found):
    """A PNG of an Assignment, as ``drawn_pairs`` draws it."""
    title, names = f"{algo}, batch {found.sizes.batch}, metric {found.metric}", found.machine.names
    return drawn_pairs(title, names, names, found.alternatives, found.choice)
