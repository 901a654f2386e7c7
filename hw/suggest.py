"""If a config does not fit: smaller values of its fields with which it would."""

__all__ = ["listed", "suggest", "written"]


def written(value):
    """The text of a field's value as ``--set`` reads it.

    Commas separate the parts of a tuple or list, colons those of one inside another.
    """
    if not isinstance(value, (list, tuple)):
        return str(value)
    parts = (
        ":".join(map(str, each)) if isinstance(each, (list, tuple)) else str(each) for each in value
    )
    return ",".join(parts)


def listed(values):
    """The text of ``values``, ``{field: value}``, for a message: "lanes 2, hidden 64,64"."""
    return ", ".join(f"{name} {written(value)}" for name, value in values.items())


def suggest(smaller, holds):
    """Texts of changes ("<field> <value>") that would make a config fit.

    If some fields are enough when changed alone: a text for each of them, with the largest value
    that fits. If none is: one text with a change of every field, each the same number of steps
    down. If that does not fit either: an empty list.

    smaller : dict of a field to its smaller values, largest first.
    holds(changes) : whether the config with the dict ``changes``, values by field, fits. ValueError
        if there is no such config, which counts as not fitting.
    """
    if found := _alone(smaller, holds):
        return [f"{name} {written(value)}" for name, value in found]
    smaller = {name: values for name, values in smaller.items() if values}
    for step in range(max(map(len, smaller.values()), default=0)):
        together = {name: values[min(step, len(values) - 1)] for name, values in smaller.items()}
        if _holds(holds, together):
            return [listed(together)]
    return []


def _alone(smaller, holds):
    """For each field that makes the config fit when changed alone: ``(field, largest value that
    fits)``."""
    first = (
        (name, next((value for value in values if _holds(holds, {name: value})), None))
        for name, values in smaller.items()
    )
    return [(name, value) for name, value in first if value is not None]


def _holds(holds, changes):
    try:
        return holds(changes)
    except ValueError:
        return False
