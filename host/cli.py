"""The command ``rlfabric``. Heavy modules are imported by the command that needs them.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a tool is missing, 4 does not fit the board,
5 not available yet, 130 interrupted.
"""

import importlib
import json
import os
import pkgutil
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer
from amaranth.hdl import UnusedElaboratable
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import bench as benches
import boards
from host.agents.train_config import ALGORITHMS, LEARNERS, preset
from sim.tools import BUILD_DIRECTORY, MissingTool

__all__ = ["app", "main"]

FAILED, USAGE, MISSING_TOOL, DOES_NOT_FIT, NOT_YET, INTERRUPTED = 1, 2, 3, 4, 5, 130

CARDS = {
    "model": "bit-exact twins in Python, no build",
    "sim": "the generated Verilog under Verilator",
    "xrt[:N]": "card N (0) of this machine, through XRT",
}

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="FPGA accelerators for deep reinforcement learning, generated from Python.\n\n"
    "Start with `rlfabric doctor`, then `rlfabric train dqn --env CartPole-v1 --card sim`.",
)
console = Console()

Design = Annotated[str, typer.Argument(metavar="DESIGN", help="A design of `rlfabric list`.")]
BoardName = Annotated[str, typer.Option("--board", help="A board of `rlfabric list`.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Any other config field; repeatable."),
]
Capacity = Annotated[int | None, typer.Option(min=2, help="Experiences the replay memory holds.")]
Fanout = Annotated[int | None, typer.Option(help="Children of a tree node: 2, 4, ... 64.")]
Output = Annotated[Path, typer.Option("--out", help="Where `<board>/<design>/` goes.")]


def _settings(texts, **named):
    """``{field: value}`` of ``--set`` texts and of the options that are not None."""
    values = {name: value for name, value in named.items() if value is not None}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise ValueError(f"--set must be FIELD=VALUE, not {text!r}")
        values[name] = value
    return values


def _table(title, heads, rows):
    table = Table(*heads, title=title, title_justify="left")
    for row in rows:
        table.add_row(*("" if cell is None else escape(str(cell)) for cell in row))
    console.print(table)


@app.command("list")
def list_():
    """What there is to choose from: designs, boards, algorithms, cards."""
    from hw.designs import DESIGNS

    _table("Designs", ("name", "what"), [(d.name, d.summary) for d in DESIGNS.values()])
    memory = {
        board.name: f"{len(board.banks)} x {board.banks[0].size >> 20} MiB {board.banks[0].kind}"
        for board in boards.BOARDS.values()
    }
    _table(
        "Boards",
        ("name", "part", "memory", "flow"),
        [(b.name, b.part, memory[b.name], b.flow) for b in boards.BOARDS.values()],
    )
    for board in boards.BOARDS.values():
        for fact in board.unverified:
            console.print(f"  {board.name}, not confirmed: {fact}", style="dim", markup=False)
    _table("Algorithms", ("name", "what"), ALGORITHMS.items())
    _table("Learners", ("name", "what"), LEARNERS.items())
    _table("Cards", ("name", "what"), CARDS.items())


@app.command()
def doctor():
    """Check this machine. Exit code 3: something that `make demo` or `make test` needs is missing.

    Example: `rlfabric doctor`
    """
    from host.doctor import examine, render

    findings = examine()
    console.print(render(findings))
    missing = [finding for finding in findings if finding.required and not finding.found]
    for finding in missing:
        console.print(f"missing: {finding.name}: {finding.install}", markup=False)
    if missing:
        raise typer.Exit(MISSING_TOOL)
    console.print("Everything that `make demo` and `make test` need is here.")


@app.command()
def verilog(
    design: Design,
    board: BoardName = "u200",
    capacity: Capacity = None,
    fanout: Fanout = None,
    settings: Settings = None,
    out: Output = BUILD_DIRECTORY,
    lint: Annotated[bool, typer.Option("--lint", help="Check it with Verilator.")] = False,
):
    """Write Verilog, config, kernel description and register map of DESIGN for a board.

    Examples:

    - `rlfabric verilog replay --board u200 --lint`

    - `rlfabric verilog replay --board zcu106 --capacity 65536 --fanout 4`

    - `rlfabric verilog replay --set priority_width=20`
    """
    _generate(design, board, out, lint, _settings(settings, capacity=capacity, fanout=fanout))


def _generate(design, board, out, lint, values):
    """Generate, lint on request, and print the directory."""
    from host.generate import generate
    from host.lint import lint_directory

    directory = generate(design, board, out, **values)
    if lint:
        lint_directory(directory)
        console.print("clean under verilator --lint-only -Wall with lint.vlt")
    print(os.path.relpath(directory))


@app.command()
def bitstream(
    design: Design,
    board: BoardName = "u200",
    capacity: Capacity = None,
    fanout: Fanout = None,
    settings: Settings = None,
    out: Output = BUILD_DIRECTORY,
):
    """Not available yet: writes what `verilog` writes, says so, and exits with code 5.

    Example: `rlfabric bitstream replay --board u200`
    """
    _generate(design, board, out, False, _settings(settings, capacity=capacity, fanout=fanout))
    print("bitstream: not available yet; the Verilog above is all that was made", file=sys.stderr)
    raise typer.Exit(NOT_YET)


@app.command()
def train(
    algorithm: Annotated[str, typer.Argument(metavar="ALGO", help="`dqn` or `ddpg`.")],
    env: Annotated[
        str | None,
        typer.Option(help="A gymnasium environment. [default: CartPole-v1, ddpg Pendulum-v1]"),
    ] = None,
    learner: Annotated[
        str, typer.Option(help="What trains: `cpu`, or `card`, whose kernel is the algorithm's.")
    ] = "cpu",
    card: Annotated[str, typer.Option(help="`model`, `sim` or `xrt[:N]`.")] = "model",
    steps: Annotated[int | None, typer.Option(min=1, help="Environment steps at most.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Equal seeds, equal runs.")] = 0,
    out: Annotated[Path | None, typer.Option(help="[default: runs/ALGO-ENV-SEED]")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint in OUT.")
    ] = False,
    until_solved: Annotated[
        bool, typer.Option("--until-solved", help="Stop when the reward threshold is reached.")
    ] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Card `sim`: write a waveform.")] = False,
    board: BoardName = "u200",
    settings: Settings = None,
):
    """Train an agent, with its replay memory, and with `--learner card` all learning, on a card.

    `--set` reaches the fields of the run and its agent, and `--set kernel.FIELD=VALUE` those of the
    kernel that is generated for the cards `model` and `sim`.

    Writes `progress.csv`, `returns.png`, `summary.json`, TensorBoard events and a checkpoint.
    Ctrl-C ends the run after the iteration under way, with a checkpoint and exit code 130.

    Examples:

    - `rlfabric train dqn --env CartPole-v1 --card sim --until-solved`

    - `rlfabric train dqn --env Acrobot-v1 --card model --steps 100000 --seed 3 --out runs/acrobot`

    - `rlfabric train dqn --env Acrobot-v1 --out runs/acrobot --resume`

    - `rlfabric train ddpg --env Pendulum-v1 --until-solved`

    - `rlfabric train dqn --learner card --set kernel.lanes=2 --set updates_per_launch=4`
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f"ALGO must be one of {', '.join(ALGORITHMS)}, not {algorithm!r}")
    from host.start import start

    env = env or preset(algorithm, learner).env
    raise typer.Exit(
        start(
            algo=algorithm,
            learner=learner,
            env=env,
            card=card,
            board=board,
            steps=steps,
            seed=seed,
            out=out or Path("runs") / f"{algorithm}-{env.replace('/', '-')}-{seed}",
            resume=resume,
            until_solved=until_solved,
            trace=trace,
            settings=_settings(settings),
        )
    )


@app.command()
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
    known = [module.name for module in pkgutil.iter_modules(benches.__path__)]
    if name != "all" and name not in known:
        raise ValueError(f"bench must be one of {', '.join(known)} or all, not {name!r}")
    rows = []
    for each in known if name == "all" else [name]:
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
    _table("Measured now", heads, cells)


def main():
    """Run the command line; what a user can cause ends in one line and an exit code."""
    # Estimates and descriptions look at components that nothing elaborates.
    warnings.simplefilter("ignore", UnusedElaboratable)
    try:
        app()
    except KeyboardInterrupt:
        code, message = INTERRUPTED, "interrupted"
    except MissingTool as error:
        code, message = MISSING_TOOL, error
    except ValueError as error:
        from host.card import CapacityError

        too_large = isinstance(error, (boards.DoesNotFit, CapacityError))
        code, message = DOES_NOT_FIT if too_large else USAGE, error
    except (OSError, RuntimeError) as error:
        code, message = FAILED, error
    else:
        return
    if "RLFABRIC_TRACEBACK" in os.environ:
        raise message if isinstance(message, Exception) else KeyboardInterrupt
    notes = getattr(message, "__notes__", ())
    print("; ".join([f"rlfabric: {message}", *notes]), file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
