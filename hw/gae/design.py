"""The design ``gae``: advantages and rewards-to-go of whole rollouts (HEPPO)."""

from dataclasses import replace

from hw.estimate import fits
from hw.gae.config import GaeConfig, GaeKernelConfig
from hw.gae.core import GaeCore
from hw.gae.estimate import cycles, estimate
from hw.gae.layouts import FACTOR_WIDTH, NUMBER_WIDTH
from hw.gae.records import GAE_ERRORS, MOMENTS, Kind
from hw.shell.command import round_up
from hw.shell.design import Design, RunField, Training, default_engine
from hw.shell.memory_clocks import latencies, launch_clocks
from hw.shell.program import PAGE_BYTES
from hw.space import Space
from hw.stream.queue import Queue
from hw.suggest import suggest
from hw.summaries import SUMMARIES

__all__ = ["DESIGN", "HEPPO_WIDTHS"]


#: Codes and results of HEPPO's memory; what on-chip memory is counted with.
HEPPO_WIDTHS = {"code_width": 8, "result_width": 8}


def _library(numbers):
    """The API's defaults: results of 32 bits. Results of 8 bits are far from another library's
    (docs/gae.md), and a Python program needs exact advantages more than a small memory."""
    return _default(numbers, code_width=8, result_width=32)


def _default(numbers, **widths):
    """64 rows, as HEPPO's, if they fit; 8 on boards with small multipliers and without UltraRAM."""
    rows, widths = 64 if numbers["ultra_ram"] else 8, widths or HEPPO_WIDTHS
    while rows > 1:
        gae = GaeConfig(rows=rows, ultra_ram=numbers["ultra_ram"], **widths)
        config = GaeKernelConfig(gae=gae, engine=default_engine(numbers))
        if fits(estimate(config), numbers):
            break
        rows //= 2
    return config


def _suggest(config, fits):
    """Smaller configs to try: fewer rows, or a shorter stack."""

    def powers(value, least):
        """The powers of two below a number, largest first."""
        return [1 << k for k in reversed(range(value.bit_length())) if least <= 1 << k < value]

    smaller = {"gae.rows": powers(config.gae.rows, 1), "gae.depth": powers(config.gae.depth, 16)}

    def holds(changes):
        changes = {name.removeprefix("gae."): value for name, value in changes.items()}
        return fits(replace(config, gae=replace(config.gae, **changes)))

    return suggest(smaller, holds)


def _slots(config):
    """Bytes of operands: a whole stack."""
    return config.gae.depth + 1, config.slot_bytes("numbers")


def _rollout(config):
    """The buffers of an estimate: program, status, and a whole stack in operands and in results."""
    slots = config.gae.depth + 1
    sizes = {
        "program": 1,
        "status": 1,
        "operands": slots * config.slot_bytes("numbers"),
        "results": slots * config.slot_bytes("results"),
    }
    return {name: round_up(size, PAGE_BYTES) for name, size in sizes.items()}


def _identity(config):
    """What the config hash covers: planes of a slot, kinds, and the formats of codes, words and
    coefficients."""
    gae = config.gae
    return {
        "planes": config.slot_beats,
        "kinds": {kind.name: kind.value for kind in Kind},
        "formats": [str(each) for each in (gae.word, gae.coefficient, gae.scale)],
        "codes": [gae.code_limit, gae.result_limit, gae.result_shift],
        "numbers": [NUMBER_WIDTH, FACTOR_WIDTH],
    }


#: Every step may end an episode, and a slot with its bootstrap value follows; a rollout has 128
#: steps where more would fit.
_RUN_FIELDS = (
    RunField(
        "steps_per_launch", "gae.depth", lambda steps: 2 * steps, lambda depth: min(128, depth // 2)
    ),
    RunField("code_width", "gae.code_width"),
    RunField("result_width", "gae.result_width"),
)

#: Powers of two, and one and a half times as many.
_ROWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
#: Levels of logic in a PE with so many registers in its loop, words of 27 bits, as yosys maps it.
_LEVELS = {1: 14, 2: 11, 3: 9}
#: Clocks of states, and of registers between units: from two simulated kernels, the same in others.
#: Those of CLEAR are with the dispatch of all four commands.
_CLEAR, _PUSH, _PULL = 21, 18, 7


def _launch_clocks(config, batch):
    """Clocks of launches with CLEAR, PUSH, ESTIMATE and PULL, each of a full stack, for ``batch``
    trajectories. Transfers decide: of 64 rows and 1024 steps the ESTIMATE is 1040 clocks of 46 000
    with a master of 128 bits, 12 500 with 512 bits. Of a stack whose operands have p beats and
    whose results r, with the queue's latency Q ::

        PUSH   p + (read + Q) + 18
        PULL   r + min(r, burst) + write + 7

    Memory moves a beat a clock, and answers as in ``hw.shell.memory_clocks``. Tests compare whole
    launches with the simulation, to the clock; a PULL of less than a burst takes a clock less.
    """
    engine, slots = config.engine, config.gae.depth + 1
    memory = latencies(engine)
    operands, results = (slots * sum(config.slot_beats[name]) for name in ("numbers", "results"))
    commands = [
        _CLEAR,
        operands + memory["read"] + Queue.latency_of(engine.depth) + _PUSH,
        cycles(config),
        results + min(results, engine.burst_beats) + memory["write"] + _PULL,
    ]
    launches = -(-batch // config.gae.rows)
    return launches * launch_clocks(engine, commands, memory["read"])


DESIGN = Design(
    name="gae",
    summary=SUMMARIES["gae"],
    config_type=GaeKernelConfig,
    default=_default,
    library=_library,
    core=GaeCore,
    errors=GAE_ERRORS,
    records=lambda config: {"Records": [MOMENTS]},
    largest="operands",
    storage=_slots,
    items="slots",
    buffers=_rollout,
    estimate=estimate,
    clocks=lambda config: {"ESTIMATE of a full stack": cycles(config)},
    identity=_identity,
    space=Space(
        operation="launches with full stacks for {batch} trajectories",
        batch=lambda config: config.gae.rows,
        fields=lambda config: {"gae.rows": _ROWS, "gae.lookahead": (1, 2, 3)},
        clocks=_launch_clocks,
        levels=lambda config: _LEVELS[config.gae.lookahead],
        axis="gae.rows",
        curve="gae.lookahead",
    ),
    suggest=_suggest,
    training=Training(
        words="ppo", fields=_RUN_FIELDS, needs="PPO needs PyTorch (the extra `torch`)."
    ),
)
