"""The command ``compose``: on which devices replay management, learning and storage run."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from host.commands.options import count
from hw.errors import UsageError

__all__ = ["composing"]

composing = typer.Typer()


def _size(text):
    return typer.Option(parser=count, metavar="INTEGER", help=text)


@composing.command()
def compose(
    algorithm: Annotated[
        str, typer.Argument(metavar="ALGO", help="An algorithm with a replay memory.")
    ],
    machine: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A machine of `rlfabric list machines`. [default: this]"),
    ] = None,
    board: Annotated[
        str | None, typer.Option(help="The board of the card of the machine `this`.")
    ] = None,
    devices: Annotated[
        Path | None, typer.Option(metavar="CSV", help="The devices of a machine of your own.")
    ] = None,
    links: Annotated[
        Path | None, typer.Option(metavar="CSV", help="The links between these devices.")
    ] = None,
    times: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="Times of each primitive on each device."),
    ] = None,
    batch: Annotated[int | None, _size("Experiences of a gradient step.")] = None,
    inserts: Annotated[int | None, _size("Experiences that are inserted meanwhile.")] = None,
    words: Annotated[int | None, _size("Words of 4 bytes of an experience.")] = None,
    transfers: Annotated[
        str,
        typer.Option(help="Whether transfers are `included` in the times, or are to be `added`."),
    ] = "included",
    metric: Annotated[
        str, typer.Option(help="`throughput`, or `efficiency`: throughput for each watt.")
    ] = "throughput",
    out: Annotated[
        Path | None, typer.Option(help="Folder for `plan.json` and `grid.png`.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON alone.")] = False,
):  # fmt: skip
    """Find the devices of a machine on which replay management, learning and storage of ALGO are
    best, by PEARL's equations and Algorithm 1.

    `--out` writes `plan.json`, with all alternatives, and `grid.png`, in the form of PEARL's
    Fig. 10.

    Examples:

    - `rlfabric compose dqn --machine pearl_cgf --times times.csv --batch 512 --inserts 256
    --words 12`

    - `rlfabric compose dqn --devices devices.csv --links links.csv --times times.csv --batch 32
    --inserts 8 --words 12 --transfers added --metric efficiency --out runs/compose`
    """
    from host.compose.assign import Sizes, assign
    from host.compose.document import document, text_of
    from host.compose.shipped import machine_of
    from host.compose.times import Times

    _check_algorithm(algorithm)
    if times is None:
        raise UsageError("times must be given, not absent")
    sizes = Sizes(**_given(batch=batch, inserts=inserts, words=words))
    chosen = machine_of(machine, board=board, devices=devices, links=links)
    found = assign(Times.read(times, chosen), sizes, transfers=transfers, metric=metric)
    text = text_of(document(algorithm, found))
    written = [] if out is None else _write(out, algorithm, found, text)
    if as_json:
        print(text, end="")
        return
    from host.commands.composition import show

    show(algorithm, found)
    for path in written:
        print(os.path.relpath(path))


def _check_algorithm(name):
    """UsageError unless ``name`` is that of an algorithm with a replay memory."""
    from host.algorithms.registry import find_named

    source = find_named(name).learns_from
    if source != "replay":
        raise UsageError(f"ALGO must learn from replay, not from {source} as {name} does")


def _given(**values):
    """``values``; UsageError if one is None."""
    for name, value in values.items():
        if value is None:
            raise UsageError(f"{name} must be given with times, not absent")
    return values


def _write(out, algorithm, found, text):
    """Writes the files of an assignment to the folder ``out``; returns their paths."""
    from host.commands.composition import drawn
    from host.compose.document import GRID, PLAN
    from host.generate.folder import write_files
    from hw.errors import MissingTool

    files = {PLAN: text.encode()}
    try:
        files[GRID] = drawn(algorithm, found)
    except MissingTool as missing:
        print(f"rlfabric: {GRID} is not drawn: {missing}", file=sys.stderr)
    folder = write_files(out, files)
    return [folder / name for name in files]
