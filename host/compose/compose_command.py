"""The command ``compose``: on which devices replay management, learning and storage run."""

import os
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from host.compose.plan_file import GRID, PLAN, PROGRAM, check_free, write
from host.settings import fields_of
from host.terminal.options import (
    FieldsAreSet,
    Imports,
    RunEnv,
    RunFile,
    Settings,
    Verbose,
    count,
)
from hw.errors import UsageError
from hw.extras import python

#: Runs a program's file without the modules that lie beside it.
_PROGRAM = """
import runpy, sys
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

__all__ = ["compose_group"]

compose_group = typer.Typer()


def _size(text):
    return typer.Option(parser=count, metavar="INTEGER", help=text)


@compose_group.command(cls=FieldsAreSet)
def compose(
    algorithm: Annotated[
        str,
        typer.Argument(
            metavar="ALGO", help="One of `rlfabric list`, `MODULE:NAME`, or `FILE.py:CLASS`."
        ),
    ],
    env: RunEnv = None,
    machine: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A machine of `rlfabric list machines`. [default: this]"),
    ] = None,
    board: Annotated[
        str | None,
        typer.Option(help="The board of the card of the machine `this`. [default: the twin]"),
    ] = None,
    devices: Annotated[
        Path | None, typer.Option(metavar="CSV", help="The devices of a machine of your own.")
    ] = None,
    links: Annotated[
        Path | None, typer.Option(metavar="CSV", help="The links between these devices.")
    ] = None,
    metric: Annotated[
        str, typer.Option(help="`throughput`, or `efficiency`: throughput for each watt.")
    ] = "throughput",
    ratio: Annotated[
        int | None, _size("Environment steps, of all actors, for each gradient step.")
    ] = None,
    actors: Annotated[
        int | None,
        _size("Processes that step the environments (extra `actors`). [default: this one]"),
    ] = None,
    messages_us: Annotated[
        float | None,
        typer.Option(
            help="With `--actors`: microseconds of a message on its way. [default: as measured]"
        ),
    ] = None,
    batch: Annotated[int | None, _size("Experiences of a gradient step.")] = None,
    uniform: Annotated[
        bool, typer.Option("--uniform", help="Draw uniformly, without priorities.")
    ] = False,
    settings: Settings = None,
    file: RunFile = None,
    imports: Imports = None,
    profile: Annotated[
        bool,
        typer.Option("--profile", help="Train each plan for some hundred launches, to measure it."),
    ] = False,
    launches: Annotated[
        int | None, _size("Of `--profile`: launches of each plan. [default: 400]")
    ] = None,
    generate: Annotated[
        bool, typer.Option("--generate", help="Write the plan as a program, with its kernel.")
    ] = False,
    run: Annotated[
        bool, typer.Option("--run", help="Train by the plan; of `--generate`, run the program.")
    ] = False,
    card: Annotated[
        str, typer.Option(help="Of `--profile` and `--run`: a card of `rlfabric list cards`.")
    ] = "model",
    times: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV", help="Times of each primitive on each device; nothing is measured."
        ),
    ] = None,
    inserts: Annotated[
        int | None, _size("With `--times`: experiences that are inserted meanwhile.")
    ] = None,
    words: Annotated[
        int | None, _size("With `--times`: words of 4 bytes of an experience.")
    ] = None,
    transfers: Annotated[
        str | None,
        typer.Option(
            help="With `--times`: whether transfers are `included` in them, or to be `added`. "
            "[default: included]"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for `profile.json`, `plan.json`, `grid.png` and the program. [default: "
            "runs/compose-ALGO-ENV; with `--times` none]"
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace another plan or program in the folder.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON alone.")] = False,
    verbose: Verbose = False,
):  # fmt: skip
    """Find the devices of a machine on which replay management and learning of ALGO are best.

    `--profile` first trains ALGO for some hundred launches by each plan that can run here, which
    takes one or two minutes, and writes `profile.json`; without it, an earlier one is read. Cards
    that are not here take the clocks of their kernels' formulas. `plan.json` has the choice, all
    alternatives, and what is assumed; `rlfabric train ALGO --config plan.json` trains by it.
    `grid.png` has the form of PEARL's Fig. 10. `--generate` writes `train.py`, a program of at most
    80 lines that does the same, the kernel that it loads, and `README.md`.

    With `--times` it is PEARL's Algorithm 1 alone, and any times will do.

    Examples:

    - `rlfabric compose dqn --env CartPole-v1 --profile`

    - `rlfabric compose dqn --env CartPole-v1 --board u200`

    - `rlfabric compose ddpg --env Pendulum-v1 --profile --ratio 8 --run`

    - `rlfabric compose dqn --env CartPole-v1 --board u200 --generate --out runs/composed`

    - `rlfabric compose dqn --env CartPole-v1 --actors 2 --profile`

    - `rlfabric compose dqn --machine pearl_cgf --times times.csv --batch 512 --inserts 256
    --words 12`

    - `rlfabric compose dqn --devices devices.csv --links links.csv --times times.csv --batch 32
    --inserts 8 --words 12 --transfers added --metric efficiency --out runs/compose`
    """
    from host.compose.machine_library import machine_of

    whole = dict(inserts=inserts, words=words, transfers=transfers)
    flags = dict(uniform=uniform, profile=profile, generate=generate, run=run)
    ours = dict(env=env, ratio=ratio, launches=launches, settings=settings or None, config=file)
    ours |= dict(actors=actors, messages_us=messages_us)
    ours |= {name: flag or None for name, flag in flags.items()}
    _absent(*((whole, "with") if times is None else (ours, "without")))
    chosen = machine_of(machine, board=board, devices=devices, links=links)
    if times is not None:
        from host.compose.algorithm1 import by_times

        sizes = dict(batch=batch, inserts=inserts, words=words)
        told = dict(transfers=transfers or "included", metric=metric)
        text, draw, show = by_times(algorithm, chosen, times, **told, **sizes)
        if out is not None:
            files = {PLAN: text.encode()}
            check_free(out, files, files if overwrite else ())
            write(out, files, draw)
        _answer(out, text, show, as_json)
        return
    from host.compose.answer import TaskOptions, answer_of

    if profile and out is not None and not overwrite:  # a plan of other times is another one
        check_free(out, dict.fromkeys((PLAN, PROGRAM) if generate else (PLAN,), b""))
    asked = TaskOptions(
        algorithm, env, ratio, uniform, fields_of(settings, batch_size=batch), file, imports or (),
        actors,
    )  # fmt: skip
    told = dict(metric=metric, card=card, out=out, measure=profile, messages_us=messages_us)
    if launches is not None:
        told["launches"] = launches
    found = answer_of(asked, chosen, **told)
    replaced = () if out is not None else (PLAN,)
    found.write(program=generate, overwrite=overwrite, replaced=replaced)
    _answer(found.out, found.text, found.show, as_json)
    if generate and not as_json:
        print(os.path.relpath(found.out / PROGRAM))
    if run and generate:
        raise typer.Exit(_ran(found.out / PROGRAM, found.document["kernel"] and card))
    if run:
        raise typer.Exit(found.train(card))


def _ran(program, card):
    """The exit code of ``program``, a path, on ``card``, None if it needs none; its best policy is
    beside it."""
    from host.interrupt import INTERRUPTED

    words = [*python(_PROGRAM, program), "--out", program.with_name("best.npz")]
    try:
        return subprocess.call(words if card is None else [*words, "--card", card])
    except KeyboardInterrupt:
        return INTERRUPTED


def _absent(values, word):
    """UsageError if one of ``values``, options that go only ``word`` times, was given."""
    for name, value in values.items():
        if value is not None:
            other = "without" if word == "with" else "with"
            raise UsageError(f"{name} must be given {word} times, not {other} them")


def _answer(out, text, show, as_json):
    """Prints ``text``, or what ``show`` prints and the paths of the files in ``out``, if any."""
    if as_json:
        print(text, end="")
        return
    show()
    for name in (PLAN, GRID) if out is not None else ():
        if (Path(out) / name).exists():
            print(os.path.relpath(Path(out) / name))
