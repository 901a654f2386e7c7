"""PEARL's matrix for a task on a machine: measured on cpu and GPU, by formulas on a card."""

from host.compose.assignment import assign
from host.compose.card_clocks import kernel_config, primitive_clocks
from host.compose.times import APART, BOTH, Times, Timing
from hw.errors import UsageError

__all__ = ["equation7", "matrix"]

_OPERATIONS = ("sample_us", "insert_us", "update_us")


def equation7(task, plans, machine, primitives, sizes):
    """``{(rm, learner): microseconds}``: equation 7 with transfers, for all pairs of devices whose
    times are known. Arguments as of ``matrix``; ``sizes`` is a Sizes."""
    times = matrix(task, plans, machine, primitives, sizes.inserts)
    try:
        found = assign(times, sizes, transfers="added")
    except UsageError:  # of no pair all times are known
        return {}
    return {(each.rm, each.learner): each.iteration_us for each in found.alternatives}


def matrix(task, plans, machine, primitives, inserts):
    """The Times of a Task with a replay memory.

    Parameters
    ----------
    task, plans : Task, sequence of Plan
    machine : Machine
    primitives : dict
        Kind of device -> ``{"sample_us", "insert_us", "update_us", "learn_us"}``, as far as they
        were measured here.
    inserts : float
        Experiences that an iteration inserts.

    A card has a row if its clock is known. Alone on it, each primitive is a launch; together they
    are one launch, which begins with the draw.
    """
    rows = []
    for device in machine.devices:
        if device.kind == "card":
            rows += _card_rows(task, plans, device, inserts)
        elif found := primitives.get(device.kind):
            rows += [
                Timing(device=device.name, placed=placed, source="measured alone", **found)
                for placed in (APART, BOTH)
            ]
    return Times(machine=machine, rows=tuple(rows))


def _card_rows(task, plans, device, inserts):
    if device.clock_mhz is None:
        return
    launch, source = device.launch_us or 0.0, f"clocks at {device.clock_mhz:g} MHz"
    row = dict(device=device.name, source=source)
    manager, learner, both = (
        _clocks(task, plans, device, inserts, *kinds)
        for kinds in (("card", "cpu"), ("cpu", "card"), ("card", "card"))
    )
    times = {}
    if manager:
        times = dict(zip(_OPERATIONS, (launch + each for each in manager[:3]), strict=True))
    if learner:
        times["learn_us"] = launch + learner[3]
    if times:
        yield Timing(placed=APART, **times, **row)
    if both:
        sample, insert, update, learn = both
        yield Timing(placed=BOTH, sample_us=launch + sample, insert_us=insert, update_us=update,
                     learn_us=learn, **row)  # fmt: skip


def _clocks(task, plans, device, inserts, rm, learner):
    """Microseconds of the four primitives on the kernel of the first plan with these parts that
    fits the card; None without one."""
    for plan in plans:
        if (plan.rm, plan.learner, plan.refused) == (rm, learner, ""):
            try:
                kernel = kernel_config(task, plan, device.board)
            except UsageError:
                continue
            clocks = primitive_clocks(task, plan, kernel, inserts)
            return [each and each / device.clock_mhz for each in clocks]
    return None
