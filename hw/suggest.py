"""Smaller values of the fields of a config that does not fit."""

__all__ = ["listed", "suggest", "written"]


def written(value):
    """The text of a field's value as ``--set`` reads it.

    Commas separate the parts of a tuple or list, colons the parts of a nested one.
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
    """Texts of changes ("<field> <value>") that would make a config fit: for each field that is
    enough by itself, its largest value that fits; if no field is, one text that changes every
    field, each by the same number of steps; if that does not fit either, an empty list.

    smaller : dict of a field to its smaller values, largest first.
    holds(changes) : whether the config with the dict ``changes``, values by field, fits. An illegal
        config, ValueError, does not fit.
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
    """``(field, largest value that fits)`` for each field that is enough by itself."""
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
