"""Options that several commands have, and the error for one that is unknown."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
import typer.core

from host.settings import integer
from host.terminal.exit_codes import TRACEBACK

__all__ = [
    "Act",
    "BoardName",
    "Capacity",
    "Collect",
    "ConfigFile",
    "Design",
    "Explored",
    "Fanout",
    "FieldsAreSet",
    "ForRun",
    "Imports",
    "Learner",
    "Memory",
    "RunEnv",
    "RunFile",
]
__all__ += ["Output", "Overwrite", "Settings", "Verbose", "command_line", "count"]


def command_line(**more):
    """Returns a ``typer.Typer``, whose help and errors look as those of ``rlfabric``. ``more`` are
    further keywords of ``typer.Typer``."""
    return typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
        **more,
    )


def _verbose(asked: bool):
    if asked:
        os.environ[TRACEBACK] = "1"


Design = Annotated[str, typer.Argument(metavar="DESIGN", help="A design of `rlfabric list`.")]
BoardName = Annotated[str, typer.Option("--board", help="A board of `rlfabric list`.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Any field of `rlfabric show`; repeatable. Lists are `64,64`, lists of lists "
        "`16:8:4,32:4:2`.",
    ),
]
Capacity = Annotated[int | None, typer.Option(min=2, help="Experiences the replay memory holds.")]
Fanout = Annotated[int | None, typer.Option(help="Children of a tree node: 2, 4, ... 64.")]
Learner = Annotated[
    str | None,
    typer.Option(
        help="What trains: `cpu` or `card`. [default: card, if a kernel trains the algorithm]"
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        help="The replay memory: `card`, or on the CPU `tree` (prioritized) or `ring` (uniform); "
        "with `--learner cpu` these two need no card. [default: card]"
    ),
]
RunEnv = Annotated[
    str | None, typer.Option(help="A gymnasium environment. [default: the algorithm's own]")
]
RunFile = Annotated[
    Path | None,
    typer.Option("--config", help="Fields from a run's summary.json, or another JSON file."),
]
Act = Annotated[
    str | None,
    typer.Option(
        help="What computes actions, also in evaluations: `cpu`, or with `--learner card` `card`. "
        "[default: cpu]"
    ),
]
Collect = Annotated[
    str | None,
    typer.Option(
        help="What steps the environments: `cpu`, or with `--learner card` `card`, for an "
        "environment of `rlfabric list tasks`. [default: cpu]"
    ),
]
Output = Annotated[Path, typer.Option("--out", help="Folder of `<board>/<design>/`.")]

ForRun = Annotated[
    Path | None,
    typer.Option(
        "--for-run",
        metavar="RUN",
        help="Make the kernel that a run needs: the run's folder, or its `summary.json`. `--set` "
        "changes the kernel.",
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="The kernel's fields: the choice in `explore.json` of `rlfabric explore`, or a JSON "
        "object of fields as in `--set`, which goes first.",
    ),
]
Explored = Annotated[
    bool,
    typer.Option(
        "--explored",
        help="Take the choice of `rlfabric explore` for all fields that are not given.",
    ),
]
Imports = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        metavar="MODULE",
        help="A module that a file may name for its environment or algorithm; its code runs. "
        "Repeatable.",
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="If the folder has a finished bitstream of another kernel, or files that were changed "
        "by hand, move them to a folder inside.",
    ),
]

Verbose = Annotated[
    bool,
    typer.Option("-v", "--verbose", help="Show where an error came from.", callback=_verbose),
]


def count(text):
    """Converts the text of an option to a positive integer, which may be written as 1e5."""
    with suppress(ValueError):
        if (value := integer(str(text))) > 0:
            return value
    raise typer.BadParameter(f"must be a positive integer, such as 1000 or 1e5, not {text!r}")


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
