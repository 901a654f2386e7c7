"""A command whose error for an unknown option says how to set the field of this name."""

import typer.core

__all__ = ["FieldsAreSet"]


class FieldsAreSet(typer.core.TyperCommand):
    """``--gamma 0.9`` is an unknown option; its error proposes ``--set gamma=0.9``."""

    def parse_args(self, ctx, args):
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            option = getattr(error, "option_name", None)  # click's NoSuchOption has it
            name = str(option).lstrip("-").replace("-", "_")
            if option and name in _fields():
                error.message += f": a field is set by `--set {name}={_value(option, given)}`"
            raise


def _fields():
    """Names of all fields of runs and agents."""
    from host.agents.registry import ALGORITHMS
    from host.runs.preset import default_learner, preset
    from host.settings import leaves

    configs = [preset(name, default_learner(name)) for name in ALGORITHMS]
    return {path[-1][1] for config in configs for _, _, path in leaves(config)}


def _value(option, args):
    """The value that was given for ``option``."""
    for word, following in zip(args, [*args[1:], ""], strict=True):
        if word.startswith(f"{option}="):
            return word.removeprefix(f"{option}=")
        if word == option and following and not following.startswith("--"):
            return following
    return "VALUE"
