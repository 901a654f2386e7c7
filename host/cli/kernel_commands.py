"""The commands that write files of a design for a board: Verilog, a bitstream, a report."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from host.settings import fields_of, flat
from host.terminal.options import (
    BoardName,
    Capacity,
    ConfigFile,
    Design,
    Explored,
    Fanout,
    ForRun,
    Imports,
    Output,
    Overwrite,
    Settings,
)
from host.terminal.tables import console
from system.cache import say
from system.tools import BUILD_DIRECTORY

__all__ = ["kernel_group"]

kernel_group = typer.Typer()


def _values(design, board, file, given, for_run, imports, explored):
    """``(values, stored)`` as of ``of_run``: fields in ``file``, if there is one, then ``given``;
    and the choice of the others, if ``explored``. If a field has a short and a long name, the last
    one counts. If the fields are far from the best, a line says so."""
    from host.cli.run_kernel import of_run
    from host.kernels.exploration_file import chosen_fields, exploration, hint
    from host.runs.request import read_json
    from hw.suggest import listed

    if file is not None:
        given = {**flat(chosen_fields(read_json(file), file, design, board)), **given}
    values, stored = of_run(for_run, design, board, given, imports or ())
    values = {"library": False} | values
    own = {name: value for name, value in values.items() if name != "library"}
    if explored:
        _, document = exploration(design, board, values=own)
        choice = document["choice"]
        say(f"explored: {listed(choice['fields'])}; {choice['clocks']} clocks")
        values = {**values, **choice["fields"]}
    elif line := hint(design, board, own):
        say(line)
    return values, stored


@kernel_group.command()
def verilog(
    design: Design,
    board: BoardName = "u200",
    capacity: Capacity = None,
    fanout: Fanout = None,
    settings: Settings = None,
    file: ConfigFile = None,
    for_run: ForRun = None,
    explored: Explored = False,
    imports: Imports = None,
    out: Output = BUILD_DIRECTORY,
    overwrite: Overwrite = False,
    lint: Annotated[bool, typer.Option("--lint", help="Check the Verilog with Verilator.")] = False,
):
    """Write Verilog, config, kernel description and register map of DESIGN for a board.

    The folder has files of one kernel: files of another config are removed, except a finished
    bitstream.

    Examples:

    - `rlfabric verilog replay --board u200 --lint`

    - `rlfabric verilog replay --board zcu106 --capacity 65536 --fanout 4`

    - `rlfabric verilog replay --set priority_width=20`

    - `rlfabric verilog dqn --set kind=float32 --explored`

    - `rlfabric verilog a3c --set convolutions=16:8:4,32:3:2 --set hidden=128`
    """
    from host.kernels import generate
    from host.kernels.lint import lint_directory

    given = fields_of(settings, capacity=capacity, fanout=fanout)
    values, _ = _values(design, board, file, given, for_run, imports, explored)
    directory = generate(design, board, out, overwrite=overwrite, **values)
    if lint:
        lint_directory(directory)
        console.print("clean under verilator --lint-only -Wall with lint.vlt")
    print(os.path.relpath(directory))


@kernel_group.command("bitstream")
def bitstream_(
    design: Design,
    board: BoardName = "u200",
    capacity: Capacity = None,
    fanout: Fanout = None,
    settings: Settings = None,
    file: ConfigFile = None,
    for_run: ForRun = None,
    explored: Explored = False,
    imports: Imports = None,
    out: Output = BUILD_DIRECTORY,
    overwrite: Overwrite = False,
    target: Annotated[
        str | None, typer.Option(help="`hw`, or on U200 and U50 `hw_emu`. [default: hw]")
    ] = None,
    platform: Annotated[
        str | None, typer.Option(help="U200, U50: another platform's name, or its .xpfm file.")
    ] = None,
    storage_bytes: Annotated[
        int | None,
        typer.Option(min=1, help="U50: bytes of the largest buffer, over several banks."),
    ] = None,
    mhz: Annotated[
        int | None, typer.Option(min=1, help="Clock to ask for. [default: the board's]")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=1, help="ULX3S: seed of the placer; yosys' netlist is kept. [default: its own]"
        ),
    ] = None,
):
    """Make the bitstream of DESIGN for a board, and print the clock at which it may run and, where
    the tools say so, the cells that it takes.

    Writes the files of `verilog` and the other inputs of the board's tools, then runs these tools.
    If they are missing, it says which, and how to go on, and exits with code 5.

    Examples:

    - `rlfabric bitstream replay --board ulx3s`

    - `rlfabric bitstream dqn --board ulx3s --seed 2`

    - `rlfabric bitstream dqn --board ulx3s --mhz 51`

    - `rlfabric bitstream dqn --board u50 --target hw_emu`

    - `rlfabric bitstream replay --board u50 --storage-bytes 4294967296`

    - `rlfabric bitstream a3c --board u200 --for-run runs/a3c-ALE-Pong-v5-card-model-0`
    """
    import boards
    from boards.bitstream import ToolsMissing, build, check_options
    from host.kernels import package
    from hw.shell.description import KernelDescription

    options = dict(target=target, platform=platform, seed=seed)
    found = boards.get(board, design)
    check_options(found, **options)
    given = fields_of(settings, capacity=capacity, fanout=fanout)
    values, stored = _values(design, board, file, given, for_run, imports, explored)
    wanted = stored if storage_bytes is None else storage_bytes
    directory = package(
        design, board, out, storage_bytes=wanted, mhz=mhz, overwrite=overwrite, **values
    )
    print(os.path.relpath(directory), flush=True)
    description = KernelDescription.from_json(
        (directory / "kernel.json").read_text(encoding="utf-8")
    )
    try:
        made = build(directory, description, found.at(mhz), **options)
    except ToolsMissing as missing:
        missing.__notes__ = [
            f"`make bitstream DESIGN={design} BOARD={name}` needs no vendor's tool"
            for name in _open_boards(design)
        ]
        raise
    for each in (*made.clocks, *made.used):
        print(each)
    print(os.path.relpath(made.bitstream))


def _open_boards(design):
    """Names of boards on which ``design`` is known to fit, and whose tools are packages of an
    extra."""
    import boards
    from boards.board import FLOWS
    from host.kernels import config_with_estimate, find_design

    for board in boards.BOARDS.values():
        if FLOWS[board.flow] is None:
            with suppress(boards.DoesNotFit):
                _, estimate = config_with_estimate(
                    find_design(design), board.set_up_for(design), {}
                )
                if not boards.unknown(board, estimate):
                    yield board.name


@kernel_group.command("report")
def report_(
    design: Design,
    board: BoardName = "u200",
    capacity: Capacity = None,
    fanout: Fanout = None,
    settings: Settings = None,
    file: ConfigFile = None,
    for_run: ForRun = None,
    explored: Explored = False,
    imports: Imports = None,
    out: Output = BUILD_DIRECTORY,
    overwrite: Overwrite = False,
    levels: Annotated[int, typer.Option(min=1, help="Levels of units in the table.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
):
    """Report the resources of DESIGN on a board, by unit, as yosys maps them. A large design takes
    minutes.

    Examples:

    - `rlfabric report replay --board zcu106`

    - `rlfabric report replay --board u50 --fanout 64 --json`
    """
    from host.explore.resource_report import make, show

    given = fields_of(settings, capacity=capacity, fanout=fanout)
    values, _ = _values(design, board, file, given, for_run, imports, explored)
    result = make(design, board, out, levels=levels, overwrite=overwrite, **values)
    if as_json:
        print(json.dumps(result, indent=2))
    else:
        show(result, board, Path(os.path.relpath(out)) / result["board"] / design)
