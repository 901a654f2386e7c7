"""``python -m bench``: the command that measures what the README claims."""

import importlib
import json
from pathlib import Path
from typing import Annotated

import typer

from bench import BENCHES, figures, pages, results
from bench.provenance import commit_for
from host.terminal.options import command_line
from host.terminal.tables import table
from hw.errors import Failure, UsageError

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
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="solve: tasks, algorithms, sides, or TASK/SIDE. [all]"),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", help="solve: seeds of each side; 0 runs nothing. [10]"),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option("--state", metavar="DIR", help="solve: its records. [docs/results/solve]"),
    ] = None,
    limit_s: Annotated[
        float | None,
        typer.Option("--limit-s", help="solve: most processor seconds of a seed's training. [600]"),
    ] = None,
):
    """Measure what the README claims, beside the papers' figures.

    Examples:

    - `python -m bench replay`

    - `python -m bench replay --area --json`

    - `python -m bench learner --write`

    - `python -m bench solve --only CartPole-v1 --seeds 3 --write`, which goes on where it ended

    - `python -m bench figures`, which draws docs/figures from the kept rows
    """
    if name != "solve" and not (
        only is None and seeds is None and state is None and limit_s is None
    ):
        raise UsageError(f"only, seeds, state and limit-s must be with solve, not {name}")
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
    if write:  # before hours of measurements, too
        commit_for(results.FOLDER)
    rows = []
    failed = _solve(only, seeds, state, limit_s, write) if name == "solve" and not printed else []
    for each in () if printed else BENCHES if name == "all" else [name]:
        module = importlib.import_module(f"bench.{each}")
        measured = module.rows(area=area) if state is None else module.rows(folder=state)
        rows += measured
        if write:
            stay = results.keep(each, measured, fresh=fresh or each == "solve")
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
    if failed:
        raise Failure(f"{len(failed)} seeds gave no record: {', '.join(failed)}")


def _solve(only, seeds, state, limit_s, write):
    """Runs the seeds that have no record yet; returns what ``measure`` does."""
    from bench.solve import SEEDS
    from bench.solve.seed_records import RECORDS, measure

    if write and state is not None:
        raise UsageError(f"state must be docs/results/solve with --write, not {state}")
    return measure(
        only or [],
        seeds=SEEDS if seeds is None else seeds,
        folder=RECORDS if state is None else state,
        limit_s=600.0 if limit_s is None else limit_s,
        say=lambda text: typer.echo(text, err=True),
    )
