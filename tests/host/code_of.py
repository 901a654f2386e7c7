"""Functions that count as ours, as an environment's, or as anybody's, by the module they are of."""

__all__ = ["function", "ours"]


def function(module, body, **names):
    """A function of any arguments with this body, which a module called ``module`` might have."""
    names["__name__"] = module
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    exec(f"def call(*arguments, **options):\n{lines}\n", names)
    return names["call"]


def ours(body, **names):
    return function("host.runs.start_run", body, **names)
