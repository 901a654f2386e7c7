"""The design ``a3c``: asynchronous advantage actor-critic with parameters in card memory (FA3C)."""

from dataclasses import asdict

from hw.estimate import fits
from hw.fa3c.commands import IMAGES
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.core import A3cCore
from hw.fa3c.estimate import estimate, suggest
from hw.fa3c.records import A3C_ERRORS, TASK, Task
from hw.fa3c.round_clocks import period_clocks
from hw.fa3c.rows import ROW_BYTES, ROW_WIDTH
from hw.fa3c.schedule import Schedule, schedule
from hw.shell.command import round_up
from hw.shell.design import Design, RunField, Training, default_engine
from hw.shell.program import PAGE_BYTES
from hw.space import Space
from hw.summaries import SUMMARIES

__all__ = ["DESIGN"]

#: Share of a board's resources that the default config may take by ``estimate``, whose error is
#: below a tenth.
_SHARE = 0.9
_MINATAR = dict(
    height=10,
    width=10,
    convolutions=((16, 3, 1),),
    hidden=(128,),
    outputs=7,
    input_exponent=0,
    units=("infer", "train"),
    parameter_rows=1024,
)
#: Largest first: FA3C's network on two pairs of units with 64 PEs; a network for MinAtar (Young and
#: Tian, 2019) on one pair with 64 PEs, and with 32; a network for CartPole on one unit of 16 PEs.
#: Where a row is several beats, memory binds the second, whose PEs would wait.
_SIZES = (
    dict(),
    _MINATAR,
    _MINATAR | dict(lanes=2, drain_words=1),
    dict(
        height=1,
        width=1,
        binary32=True,
        input_exponent=0,
        convolutions=(),
        hidden=(32,),
        outputs=3,
        lanes=1,
        units=("any",),
        batch=1,
        agents=4,
        rms_units=1,
        drain_words=1,
        parameter_rows=64,
    ),
)


def _default(numbers):
    """The largest of ``_SIZES`` that fits within ``_SHARE`` of the board, and whose PEs its masters
    can keep at work; the smallest if none does."""
    names = ("lut", "ff", "bram36", "uram", "dsp")
    limits = {name: _SHARE * numbers[name] for name in names if numbers.get(name) is not None}
    engine = default_engine(numbers)
    for sizes in _SIZES if engine.data_width == ROW_WIDTH else _SIZES[2:]:
        config = Fa3cConfig(engine=engine, ultra_ram=numbers["ultra_ram"], **sizes)
        if fits(estimate(config), limits | {"family": numbers.get("family", "xcup")}):
            break
    return config


def _buffers(config):
    """Bytes of the buffers of fixed size, in whole pages; program, operands and results grow."""
    return {name: round_up(size, PAGE_BYTES) for name, size in config.buffer_bytes.items()}


def _identity(config):
    """What decides the layout of data in memory: rows of theta, squares, observations, outputs,
    errors and rollouts; the kinds of tasks."""
    names = ("out_channels", "groups", "line_rows", "depth", "group_rows", "rows")
    return {
        "row": ROW_BYTES,
        "images": IMAGES,
        "tasks": {task.name: task.value for task in Task},
        "layers": [
            asdict(layer) | {name: getattr(layer, name) for name in names}
            for layer in config.layers
        ],
        "parameters": [config.parameter_bases, config.theta_rows],
        "maps": [config.map_rows, config.screen_bytes, config.output_bytes, config.step_rows],
    }


#: (height, width, channels, actions) -> an environment with these sizes.
_ENVIRONMENTS = {
    (84, 84, 4, 18): "ALE/Seaquest-v5",
    (84, 84, 4, 6): "ALE/Pong-v5",
    (10, 10, 4, 6): "MinAtar/Breakout-v0",
    (10, 10, 4, 3): "MinAtar/Breakout-v1",
    (1, 1, 4, 2): "CartPole-v1",
}


#: Fields of a run that decide the network; its environments decide agents and snapshots.
_RUN_FIELDS = (
    RunField("hidden", "hidden"),
    RunField("convolutions", "convolutions"),
    RunField("batch_size", "steps"),
)


def _settings(config):
    """Settings of a training run with as many environments as the kernel has places for.

    Two populations are taken unless one alone has more environments. Besides the populations'
    agents, as many agents as one population has are kept free for values that are wanted besides,
    and one snapshot is kept for evaluations."""
    most = None
    for populations in (2, 1):
        group = min(config.batch, 8)
        agents = config.agents // (populations + 1)
        agents = min(agents, (config.snapshots - 1) // populations * group)
        if agents and (most is None or populations * agents > most["env_count"]):
            most = {
                "env_count": populations * agents,
                "populations": populations,
                "group": min(group, agents),
            }
    return most


#: Units for all tasks, or pairs of one for inference and one for training: up to four of each.
_UNITS = (
    *(kind * count for count in (1, 2) for kind in (("any",), ("infer", "train"))),
    *(("any",) * 4, ("infer", "train") * 3, ("infer", "train") * 4),
)
_POWERS = (1, 2, 4, 8, 16)


def _clocks(config):
    """``{operation: clocks}`` of a period: each active agent is inferred ``steps + 1`` times and
    trained once."""
    schedule = Schedule(config)
    name = f"period of {schedule.period} rounds with {schedule.active} agents"
    return {name: sum(period_clocks(config, schedule))}


def _all_clocks(config, batch):
    """Clocks for ``steps`` steps and one training of each of ``batch`` agents, on average."""
    schedule = Schedule(config, batch)
    return schedule.clocks_of_all(sum(period_clocks(config, schedule)))


def _prepare(config, batch):
    """A group of agents shares a snapshot, so there are as many as groups."""
    snapshots = max(config.snapshots, -(-batch // config.batch))
    return {"agents": batch, "snapshots": snapshots}


#: The layout of parameters stays as it is in the config: FA3C's alternatives are never faster. So
#: do the local masters: with four pairs of 64 PEs, four of them gain 1.7 %, and would double a
#: search.
_SPACE = Space(
    operation="period of rounds with {batch} agents",
    batch=lambda config: config.agents,
    fields=lambda config: {
        "lanes": _POWERS,
        "units": _UNITS,
        "rms_units": _POWERS,
        "drain_words": _POWERS,
        "global_masters": (1, 2),
    },
    clocks=_all_clocks,
    prepare=_prepare,
    axis="lanes",
    curve="units",
)

DESIGN = Design(
    name="a3c",
    summary=SUMMARIES["a3c"],
    config_type=Fa3cConfig,
    default=_default,
    core=A3cCore,
    errors=A3C_ERRORS,
    records=lambda config: {"Tasks": [TASK]},
    largest="local0",
    storage=lambda config: (config.local_bytes, 1),
    items="bytes of rollouts",
    buffers=_buffers,
    estimate=estimate,
    clocks=_clocks,
    schedule=schedule,
    space=_SPACE,
    suggest=suggest,
    identity=_identity,
    training=Training(
        words="a3c",
        fields=_RUN_FIELDS,
        settings=_settings,
        task="observations of {} x {} x {} and {} actions",
        sizes=lambda config: (config.height, config.width, config.channels, config.outputs - 1),
        environments=_ENVIRONMENTS,
    ),
)
