"""The commands that show something: fields that can be set, a run, a trained policy."""

import json
from pathlib import Path
from typing import Annotated

import typer

from host.terminal.options import BoardName, Imports, Learner, Verbose
from host.terminal.tables import table
from hw.errors import UsageError
from system.tools import BUILD_DIRECTORY

__all__ = ["agent_group"]

agent_group = typer.Typer()


@agent_group.command()
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ALGO", help="An algorithm or a design of `rlfabric list`, or `MODULE:NAME`."
        ),
    ],
    learner: Learner = None,
    env: Annotated[str | None, typer.Option(help="Show its defaults, if it has some.")] = None,
    board: BoardName = "u200",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
):
    """Show every field of ALGO that `--set` can set: its default, its rule, its meaning.

    Examples:

    - `rlfabric show dqn`

    - `rlfabric show ppo --env Pendulum-v1`

    - `rlfabric show gae --board zcu106 --json`
    """
    from host.cli.field_rows import shown

    parts = shown(name, learner=learner, env=env, board=board)
    if as_json:
        print(json.dumps([row for rows in parts.values() for row in rows], indent=2))
        return
    for title, rows in parts.items():
        heads = {"field": "field", "default": "default", "rule": "may be", "meaning": "what"}
        if not any(row["rule"] for row in rows):
            del heads["rule"]
        table(title, heads.values(), [[row[name] for name in heads] for row in rows])


@agent_group.command()
def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or a policy's file.")],
    episodes: Annotated[int, typer.Option(min=1, max=4096, help="Greedy episodes.")] = 20,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the first episode; each later one has the next.")
    ] = 0,
    render: Annotated[
        str | None,
        typer.Option(
            help="`human`: show the episodes in a window; `gif`, `mp4`: write the first one to "
            "RUN/evaluation.gif or RUN/evaluation.mp4."
        ),
    ] = None,
    copies: Annotated[
        int,
        typer.Option(min=1, max=8, help="Copies of the environment that play the episodes."),
    ] = 8,
    imports: Imports = None,
    verbose: Verbose = False,
):
    """Play the best policy of a run without exploring, and print mean and deviation of its returns.

    Examples:

    - `rlfabric evaluate runs/acrobot --episodes 100`

    - `rlfabric evaluate runs/acrobot --episodes 3 --render human`

    - `rlfabric evaluate runs/pong --episodes 1 --render mp4`

    - `rlfabric evaluate runs/mine --import my_package`
    """
    from host.cli.episodes import play

    played = play(
        run, episodes=episodes, seed=seed, render=render, imports=imports or (), copies=copies
    )
    returns = played.returns
    print(
        f"mean return {returns.mean():.1f}, deviation {returns.std():.1f}, "
        f"{returns.min():.1f} to {returns.max():.1f}: {episodes} episodes of {played.env}"
    )
    if played.file is not None:
        print(played.file)


@agent_group.command()
def watch(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run's folder, or `uart:PORT` of a board.")
    ],
    kernel: Annotated[
        Path | None,
        typer.Option(
            help="With `uart:PORT`: kernel.json of the board's bitstream. "
            "[default: build/ulx3s/dqn/kernel.json]"
        ),
    ] = None,
    verbose: Verbose = False,
):
    """Draw the returns of a run in the terminal while it trains in another one, until it ends; or
    of a board that plays, by its serial line, until its launch ends.

    Examples:

    - `rlfabric watch runs/acrobot`
    - `rlfabric watch uart:/dev/ttyUSB0`
    """
    from host.cli.watch import watch as follow
    from host.cli.watch import watch_port

    if run.startswith("uart:"):
        default = BUILD_DIRECTORY / "ulx3s" / "dqn" / "kernel.json"
        watch_port(run.removeprefix("uart:"), kernel or default)
    elif kernel is not None:
        raise UsageError(f"--kernel must be with uart:PORT, not with {run}")
    else:
        follow(run)
