"""The command that measures what the README claims."""

import importlib
import json
from typing import Annotated

import typer

from bench import BENCHES
from host.commands.listing import table

__all__ = ["measuring"]

measuring = typer.Typer()


@measuring.command()
def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A bench, or `all`.")] = "all",
    as_json: Annotated[bool, typer.Option("--json", help="A list of rows, for programs.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="A table for a document.")] = False,
    area: Annotated[bool, typer.Option("--area", help="Synthesize too (yosys, minutes).")] = False,
):
    """Measure what the README claims, beside the papers' figures.

    Examples:

    - `rlfabric bench replay`

    - `rlfabric bench replay --area --json`
    """
    if name != "all" and name not in BENCHES:
        raise ValueError(f"bench must be one of {', '.join(BENCHES)} or all, not {name!r}")
    rows = []
    for each in BENCHES if name == "all" else [name]:
        rows += importlib.import_module(f"bench.{each}").rows(area=area)
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    heads = ("bench", "case", "metric", "value", "unit", "reference", "reference_value", "source")
    cells = [["" if row[head] is None else row[head] for head in heads] for row in rows]
    if markdown:
        for line in [heads, ["---"] * len(heads), *cells]:
            print("| " + " | ".join(str(cell) for cell in line) + " |")
        return
    table("Measured now", heads, cells)
