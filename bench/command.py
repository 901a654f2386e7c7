"""``python -m bench``: the command that measures what the README claims."""

import importlib
import json
from typing import Annotated

import typer

from bench import BENCHES, figures, pages, results
from bench.provenance import commit_for
from host.terminal.options import command_line
from host.terminal.tables import table
from hw.errors import UsageError

__all__ = ["app"]

app = command_line()


@app.command()
def bench(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A bench, `all`, or `figures`.")
    ] = "all",
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
    area: Annotated[bool, typer.Option("--area", help="Synthesize too (yosys, minutes).")] = False,
    write: Annotated[
        bool,
        typer.Option(
            "--write", help="Keep the rows in docs/results/NAME.json, and print its documents."
        ),
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="With --write: remove rows that this run lacks.")
    ] = False,
    printed: Annotated[
        bool,
        typer.Option(
            "--print",
            help="Measure nothing; print docs/results/*.md, docs/bench.md and README's tables.",
        ),
    ] = False,
):
    """Measure what the README claims, beside the papers' figures.

    Examples:

    - `python -m bench replay`

    - `python -m bench replay --area --json`

    - `python -m bench learner --write`

    - `python -m bench figures`, which draws docs/figures from the kept rows
    """
    if name == "figures":
        if as_json or area or write or fresh or printed:
            raise UsageError("figures must be without options, not with one")
        for path in figures.write():
            typer.echo(path)
        return
    if name != "all" and name not in BENCHES:
        raise UsageError(f"bench must be one of {', '.join(BENCHES)}, figures or all, not {name!r}")
    if fresh and not write:
        raise UsageError("fresh must be with --write, not alone")
    rows = []
    if write:  # before hours of measurements, too
        commit_for(results.FOLDER)
    for each in () if printed else BENCHES if name == "all" else [name]:
        measured = importlib.import_module(f"bench.{each}").rows(area=area)
        rows += measured
        if write:
            stay = results.keep(each, measured, fresh=fresh)
            typer.echo(f"docs/results/{each}.json: {len(measured)} rows, {stay} stay", err=True)
    if write or printed:
        for path in pages.write():
            typer.echo(f"{path} is printed anew", err=True)
    if as_json:
        print(json.dumps(rows, indent=2))
    elif rows:
        heads = ("bench", "case", "metric", "value", "unit", "reference", "reference_value",
                 "source")  # fmt: skip
        table("Measured now", heads, [[row[head] for head in heads] for row in rows])
