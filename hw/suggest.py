"""If a config does not fit: smaller values of its fields with which it would."""

__all__ = ["suggest", "written"]


def written(value):
    """A field's value as ``--set`` reads it: commas separate the parts of a tuple, colons those of
    a tuple inside a tuple."""
    if not isinstance(value, (list, tuple)):
        return str(value)
    parts = (
        ":".join(map(str, each)) if isinstance(each, (list, tuple)) else str(each) for each in value
    )
    return ",".join(parts)


def suggest(smaller, holds):
    """Texts of changes, each of which is enough by itself. If none is, texts of several changes
    together.

    smaller : dict of a field to its smaller values, largest first.
    holds(changes) : whether the config with these values fits, by field; ValueError if there is no
        such config.
    """
    if found := _alone(smaller, holds):
        return [f"{name} {written(value)}" for name, value in found]
    smaller = {name: values for name, values in smaller.items() if values}
    for step in range(max(map(len, smaller.values()), default=0)):
        together = {name: values[min(step, len(values) - 1)] for name, values in smaller.items()}
        if _holds(holds, together):
            return [", ".join(f"{name} {written(value)}" for name, value in together.items())]
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
