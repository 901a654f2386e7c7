"""The commands of ``rlfabric``; heavy modules are imported by the command that needs them."""

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from host.cli.agent_commands import agent_group
from host.cli.kernel_commands import kernel_group
from host.cli.lists import DETAILED, LISTS
from host.compose.compose_command import compose_group
from host.explore.explore_command import explore_group
from host.export.export_command import export_group
from host.settings import fields_of
from host.terminal.exit_codes import MISSING_TOOL
from host.terminal.options import (
    Act,
    BoardName,
    Collect,
    FieldsAreSet,
    Imports,
    Learner,
    Memory,
    RunEnv,
    RunFile,
    Settings,
    Verbose,
    command_line,
    count,
)
from host.terminal.tables import console
from hw.errors import UsageError

__all__ = ["app"]

app = command_line(
    no_args_is_help=True,
    help="FPGA accelerators for deep reinforcement learning, generated from Python.\n\n"
    "Start with `rlfabric doctor`, then `rlfabric train dqn --env CartPole-v1`.\n\n"
    "A wrong use, or a failure of the machine, is reported in one line, a bug with a traceback; "
    "with `-v` each has a traceback. "
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a tool is missing, 4 does not fit the board, "
    "5 the board's tools are missing, 6 they are of another release, 7 output cannot be written, "
    "130 interrupted.",
)
app.add_typer(kernel_group)
app.add_typer(explore_group)
app.add_typer(compose_group)
app.add_typer(agent_group)
app.add_typer(export_group)


def _version(asked: bool):
    if asked:
        print(f"rlfabric {version('rlfabric')}")
        raise typer.Exit()


@app.callback()
def every(
    asked: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", is_eager=True, callback=_version),
    ] = False,
    verbose: Verbose = False,
):
    pass


@app.command("list")
def list_(
    what: Annotated[
        str | None, typer.Argument(metavar="[WHAT]", help=f"One of {', '.join(LISTS)}.")
    ] = None,
):
    """List designs, boards, algorithms, presets, learners, replay memories, tasks, cards and
    machines.

    Examples:

    - `rlfabric list`

    - `rlfabric list boards`
    """
    if what is not None and what not in LISTS:
        raise UsageError(f"WHAT must be one of {', '.join(LISTS)}, not {what!r}")
    for show in LISTS.values() if what is None else [{**LISTS, **DETAILED}[what]]:
        show()


@app.command()
def doctor(
    tests: Annotated[
        bool, typer.Option("--tests", help="Check what `make test` needs, too.")
    ] = False,
):
    """Check this machine. Exit code 3: something that `make demo` needs is missing.

    Examples:

    - `rlfabric doctor`

    - `rlfabric doctor --tests`
    """
    from host.cli.doctor import examine, render

    findings = examine()
    console.print(render(findings, console.width))
    needed = [finding for finding in findings if finding.required or tests and finding.for_tests]
    missing = [finding for finding in needed if not finding.found]
    for finding in missing:
        console.print(f"missing: {finding.name}: {finding.install}", markup=False)
    if missing:
        raise typer.Exit(MISSING_TOOL)
    need = "`make demo` and `make test` need" if tests else "`make demo` needs"
    console.print(f"Everything that {need} is here.")


@app.command(cls=FieldsAreSet)
def train(
    algorithm: Annotated[
        str, typer.Argument(metavar="ALGO", help="One of `rlfabric list`, or `MODULE:NAME`.")
    ],
    env: RunEnv = None,
    learner: Learner = None,
    design: Annotated[
        str | None,
        typer.Option(help="`ddpg --learner card`: the kernel that trains, `fixar` or `own`."),
    ] = None,
    act: Act = None,
    collect: Collect = None,
    memory: Memory = None,
    card: Annotated[str, typer.Option(help="A card of `rlfabric list cards`.")] = "model",
    steps: Annotated[
        int | None,
        typer.Option(
            parser=count,
            metavar="INTEGER",
            help="Environment steps of all actors together, rounded up to whole launches; `1e5` is "
            "an integer too.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Equal seeds give equal runs on one host. [default: 0]"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The run's folder. [default: runs/ALGO-ENV-LEARNER-CARD-SEED, or the next -2, -3, "
            "...]"
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue from the checkpoint in OUT, or in the latest."),
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run in OUT.")] = False,
    until_solved: Annotated[
        bool, typer.Option("--until-solved", help="Stop when the reward threshold is reached.")
    ] = False,
    threshold: Annotated[
        float | None,
        typer.Option(help="Stop at this mean return instead of the environment's threshold."),
    ] = None,
    preset_name: Annotated[
        str | None,
        typer.Option(
            "--preset",
            help="`ppo`: `heppo1` to `heppo5`. [default: heppo1] `ddpg`: FIXAR's agents, from "
            "`float32` to `fixed16_all`. `rlfabric list presets` has all.",
        ),
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Card `sim`: write a waveform.")] = False,
    trace_launches: Annotated[
        int | None,
        typer.Option(min=1, help="Launches of `--trace`, set-up included. [default: 20]"),
    ] = None,
    board: BoardName = "u200",
    actors: Annotated[
        str | None,
        typer.Option(
            metavar="N|HOST:PORT",
            help="Step the environments in N processes of this machine, or on the machines of a "
            "Ray cluster (extra `actors`). [default: in this process]",
        ),
    ] = None,
    actor_count: Annotated[
        int | None,
        typer.Option(min=1, help="Actors on a cluster. [default: its free CPUs less one]"),
    ] = None,
    inline: Annotated[
        bool,
        typer.Option("--inline", help="Call the actors one after another in this process."),
    ] = False,
    deterministic: Annotated[
        bool,
        typer.Option("--deterministic", help="Take the actors' messages in turn: equal bytes."),
    ] = False,
    actor_limit: Annotated[
        float | None,
        typer.Option(help="Seconds for an actor's answer. [default: 60, or 20 times the median]"),
    ] = None,
    actor_start: Annotated[
        float | None,
        typer.Option(help="Seconds for Ray and for the actors to be there. [default: 60]"),
    ] = None,
    actor_losses: Annotated[
        int, typer.Option(min=0, help="Losses of an actor in an hour that do not end the run.")
    ] = 3,
    ship: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With HOST:PORT: a folder that all machines get."),
    ] = None,
    settings: Settings = None,
    file: RunFile = None,
    imports: Imports = None,
    verbose: Verbose = False,
):
    """Train an agent with a card. The card has the replay memory, unless `--memory` is another one;
    with `--learner card` it does all learning; for `ppo` it estimates advantages.

    `--set` sets fields of the run and its agent, and `--set kernel.FIELD=VALUE` fields of the
    kernel that is generated for the cards `model` and `sim`: `rlfabric show ALGO` lists all fields.

    Writes `progress.csv`, `returns.png`, `summary.json`, TensorBoard events and a checkpoint.
    Ctrl-C ends the run after the iteration under way, with a checkpoint and exit code 130.

    Examples:

    - `rlfabric train dqn --env CartPole-v1 --learner cpu --card sim --until-solved`

    - `rlfabric train dqn --env Acrobot-v1 --card model --steps 100000 --seed 3 --out runs/acrobot`

    - `rlfabric train dqn --env Acrobot-v1 --seed 3 --out runs/acrobot --resume`

    - `rlfabric train ddpg --env Pendulum-v1 --until-solved`

    - `rlfabric train dqn --env CartPole-v1 --act card --set kernel.learner.arithmetic.kind=fixed`

    - `rlfabric train dqn --env CartPole-v1 --collect card --until-solved`

    - `rlfabric train dqn --env CartPole-v1 --memory tree --learner cpu`

    - `rlfabric train dqn --set kernel.lanes=2 --set updates_per_launch=4`

    - `rlfabric train dqn --env my_package:MyEnv-v0 --learner cpu --threshold 90`

    - `rlfabric train my_package:SARSA --env CartPole-v1 --threshold 90`

    - `rlfabric train dqn --config runs/acrobot/summary.json --seed 4 --out runs/acrobot-4`

    - `rlfabric train ddpg --design fixar --env Pendulum-v1`

    - `rlfabric train ppo --env Pendulum-v1 --preset heppo5 --set kernel.lookahead=1`

    - `rlfabric train dqn --env CartPole-v1 --actors 2 --steps 2000`
    """
    from host.cli.actor_options import acting
    from host.compose.plan_file import say_proof
    from host.runs.request import request

    own, acts = acting(
        actors,
        actor_count,
        fixed=deterministic,
        inline=inline,
        limit=actor_limit,
        start=actor_start,
        losses=actor_losses,
        ship=ship,
    )
    asked = dict(learner=learner, design=design, act=act, env=env, steps=steps, seed=seed) | own
    asked |= dict(memory=memory, threshold=threshold, collect=collect)
    asked["until_solved"] = until_solved or None
    config, kernel = request(
        algorithm,
        options=asked,
        settings=fields_of(settings),
        preset_name=preset_name,
        file=file,
        imports=imports or (),
        board=board if card in ("model", "sim") else None,
    )
    from host.runs.start_run import TRACE_LAUNCHES, start

    if file is not None:
        say_proof(file, config)
    raise typer.Exit(
        start(
            config,
            card=card,
            board=board,
            out=out,
            resume=resume,
            overwrite=overwrite,
            preset_name=preset_name,
            trace=trace or trace_launches is not None,
            trace_launches=trace_launches or TRACE_LAUNCHES,
            kernel=kernel,
            actors=acts,
        )
    )
