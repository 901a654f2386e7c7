"""The command ``explore``: which config of a design is best on a board."""

import json
import os
import sys
from typing import Annotated

import typer

from host.settings import fields_of, integer
from host.terminal.options import BoardName, Design, Output, Settings, count
from host.terminal.tables import table
from hw.errors import UsageError
from system.tools import BUILD_DIRECTORY

__all__ = ["explore_group"]

explore_group = typer.Typer()


@explore_group.command()
def explore(
    design: Design,
    board: BoardName = "u200",
    batch: Annotated[
        int | None,
        typer.Option(
            parser=count, metavar="INTEGER", help="Samples, trajectories or agents of the "
            "operation that is made fast. [default: that of the board's default]",
        ),
    ] = None,
    regions: Annotated[
        str, typer.Option(help="Regions (SLRs) that the kernel may use: `all`, or as in `0,2`.")
    ] = "all",
    settings: Settings = None,
    rule: Annotated[
        str,
        typer.Option(help="`ours`, or `cf22`: the equations of CF'22 3.2.3 for `dqn`, `ddpg`."),
    ] = "ours",
    cap: Annotated[
        str | None,
        typer.Option(help="`--rule cf22`: the widest unit has so many, or `none`. [default: 32]"),
    ] = None,
    verify: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Simulate the N best, and map the best by yosys."),
    ] = 0,
    out: Output = BUILD_DIRECTORY,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON alone.")] = False,
):  # fmt: skip
    """Search the configs of DESIGN for the best on a board, by formulas of clocks and resources.

    A field that is set stays; the search changes the others. The choice is the smallest config
    that fits and is within a hundredth of the fastest. Writes `explore.json`, which `verilog`,
    `bitstream`, `report` and `train` take as `--config`, and `explore.png`. Exit code 4: nothing
    fits.

    Examples:

    - `rlfabric explore dqn --board u200 --batch 64`

    - `rlfabric explore gae --board zcu106 --set code_width=32 --set result_width=32`

    - `rlfabric explore dqn --regions 0 --set kind=fixed --json`

    - `rlfabric explore dqn --rule cf22 --cap 32`
    """
    if rule != "ours":
        for name, given in (("regions", regions != "all"), ("verify", verify)):
            if given:
                raise UsageError(f"{name} must be with --rule ours, not {rule}")
        _by_rule(rule, design, board, batch, cap, fields_of(settings), as_json)
        return
    if cap is not None:
        raise UsageError("cap must be with --rule cf22, not alone")
    import boards
    from host.explore.explore_view import drawn, show
    from host.explore.verification import check_verify, verified
    from host.kernels.exploration_file import EXPLORED, PICTURE, exploration, save, text_of
    from hw.designs import DESIGNS
    from hw.errors import MissingTool

    values = fields_of(settings)
    if verify:
        check_verify(design, board, values, out)
    found, document = exploration(design, board, batch=batch, regions=regions, values=values)
    if verify:
        document |= verified(found, document, out, verify)
    text = text_of(document)
    files = {EXPLORED: text.encode()}
    title = f"{design} on {boards.get(board).title}: {document['operation']}"
    try:
        files[PICTURE] = drawn(found, DESIGNS[design].space, title)
    except MissingTool as missing:
        print(f"rlfabric: {PICTURE} is not drawn: {missing}", file=sys.stderr)
    folder = save(out, document, files)
    if as_json:
        print(text, end="")
        return
    show(found, document, boards.get(board, design))
    for name in files:
        print(os.path.relpath(folder / name))
    path = os.path.relpath(folder / EXPLORED)
    print(f"next: rlfabric bitstream {design} --board {board} --config {path}")


def _by_rule(rule, design, board, batch, cap, values, as_json):
    """CF'22's own exploration, as JSON or as a table."""
    import boards
    from boards.cf22 import PUBLISHED, explore

    if rule != "cf22":
        raise UsageError(f"rule must be ours or cf22, not {rule!r}")
    if design not in PUBLISHED:
        raise UsageError(f"design must be one of {', '.join(PUBLISHED)} for cf22, not {design!r}")
    sizes = _sizes(PUBLISHED[design].network, values)
    most = None if cap == "none" else _number("cap", cap or "32")
    found = explore(design, board=boards.get(board), **sizes, batch=batch or 64, cap=most)
    if as_json:
        print(json.dumps(found, indent=2))
        return
    rows = [[point[name] for name in ("dp", "widest", "clocks", "dsp", "fits")]
            for point in found["grid"]]  # fmt: skip
    table(
        f"{design} {found['network']}, batch {found['batch']}, by the equations of CF'22: at most "
        f"{found['limit']} DSP blocks",
        ("DP", "widest unit", "clocks", "DSP", "fits"),
        rows,
    )
    print(
        f"choice: DP {found['dp']}, {found['widest']} multipliers in the widest unit, "
        f"{found['dsp']} DSP blocks, {found['clocks']} clocks a gradient step"
    )


def _sizes(network, values):
    """The sizes of CF'22's network, replaced by those in ``values``, the texts of ``--set``."""
    observation, hidden, action = network
    sizes = {"observation": observation, "hidden": (hidden,), "action": action}
    for name, text in values.items():
        if name not in sizes:
            raise UsageError(f"{name} must be one of {', '.join(sizes)} for cf22, not unknown")
        parts = tuple(_number(name, part) for part in text.split(","))
        sizes[name] = parts if name == "hidden" else parts[0]
    return sizes


def _number(name, text):
    try:
        return integer(text)
    except ValueError:
        raise UsageError(f"{name} must be an integer, not {text!r}") from None
