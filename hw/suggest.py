"""What would fit where a config does not: smaller values of its fields."""

__all__ = ["suggest", "written"]


def written(value):
    """A field's value as ``--set`` reads it: commas between the parts of a tuple, colons in one
    that is a part itself."""
    if not isinstance(value, (list, tuple)):
        return str(value)
    parts = (
        ":".join(map(str, each)) if isinstance(each, (list, tuple)) else str(each) for each in value
    )
    return ",".join(parts)


def suggest(smaller, holds):
    """Texts, each a change by itself; if none alone does, several together.

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
    """``[(field, value)]``: of each field of which one suffices, the first such value."""
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
