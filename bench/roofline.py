"""Rooflines of CF'22's Fig. 11 for a learner and a sum tree, from rows.

A module has at most ``peak`` operations a clock, and its memories give ``words`` a clock. At an
intensity of i operations a word the roof is ``min(peak, i * words)`` operations a clock. The point
that was reached is ``work / clocks`` operations a clock at the module's own intensity.

learner, DQN: a multiply-accumulate is two operations. With m_j multipliers in layer j, of all lanes
    together, forward passes of both networks and weight gradients need them in each layer, and
    errors in all but the first: ``peak = 2 (3 sum_j m_j + sum_{j > 1} m_j)``. The same with the
    weights in place of multipliers, times the batch, is ``work``. A weight that is read is used by
    each lane, so the intensity is ``2 lanes``, and ``words = peak / intensity``.
tree: K children of a node are added in each of D = ceil(log_K N) levels, in all levels at a time:
    ``peak = K D``, ``work = K D B``, and each number that is read is used once (CF'22, 2.1.2): the
    intensity is 1.
"""

__all__ = ["series"]


def series(module, value):
    """``points`` of the roof and ``reached``, the point below it, each [intensity, operations a
    clock].

    module : a dict with ``kind`` and ``clocks``, a field, and ``batch``; of a learner ``lanes``,
        ``network`` (sizes of its layers) and ``multipliers``, a field; of a tree ``fanout`` and
        ``capacity``.
    value : a function that gives a field's number.
    """
    peak, intensity, work = (_learner if module["kind"] == "learner" else _tree)(module, value)
    words = peak / intensity
    roof = [[each, min(peak, each * words)] for each in (intensity / 4, intensity, intensity * 4)]
    return {"points": roof, "reached": [intensity, work / value(module["clocks"])]}


def _learner(module, value):
    sizes = module["network"]
    weights = [rows * columns for rows, columns in zip(sizes, sizes[1:], strict=False)]
    multipliers = [int(each) for each in value(module["multipliers"]).split(",")]
    return 2 * _passes(multipliers), 2 * module["lanes"], 2 * _passes(weights) * module["batch"]


def _passes(layers):
    """Sum of ``layers`` over the passes of a gradient step: three of all, one without the first."""
    return 3 * sum(layers) + sum(layers[1:])


def _tree(module, value):
    fanout, depth = module["fanout"], 0
    while fanout**depth < module["capacity"]:
        depth += 1
    return fanout * depth, 1, fanout * depth * module["batch"]
