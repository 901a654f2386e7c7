"""The design ``replay``: prioritized replay (CF'22, PEARL)."""

from dataclasses import replace

from hw.arith.power import SCALE_FORMAT
from hw.estimate import together
from hw.replay.command_clocks import CARTPOLE_GRANULES, clocks, sample_clocks
from hw.replay.commands import Given
from hw.replay.config import FRACTION_WIDTH, ReplayConfig, ReplayKernelConfig
from hw.replay.core import ReplayCore
from hw.replay.estimate import tree_parts
from hw.replay.priority import EPSILON_FORMAT, ERROR_FORMAT
from hw.replay.records import GRANULE_BYTES, HEADER, ITEM, REPLAY_ERRORS
from hw.shell.design import Design, RunField, Training, default_engine
from hw.shell.memory_clocks import latencies, launch_clocks
from hw.space import Space
from hw.suggest import suggest
from hw.summaries import SUMMARIES

__all__ = ["DESIGN", "FANOUTS", "default_config", "draw_latency", "identity"]

#: Children of a node, of configs among which a search chooses (CF'22 4.2).
FANOUTS = (2, 4, 8, 16, 32, 64)


def default_config(numbers):
    """The ReplayKernelConfig for a board of which ``numbers`` are the resources by name, as of
    ``Design.default``. The capacity is the largest power of two from 2^20 down to 8192 whose tree
    fits the UltraRAM; if none does, or if there is no UltraRAM, it is 4096."""
    engine = default_engine(numbers)
    blocks = numbers.get("uram") or 0
    capacity = 1 << 20
    while blocks and capacity > 4096:
        config = ReplayConfig(capacity=capacity)
        if together(tree_parts(config).values()).uram <= blocks:
            return ReplayKernelConfig(replay=config, engine=engine)
        capacity //= 2
    return ReplayKernelConfig(replay=ReplayConfig(capacity=4096, ultra_ram=False), engine=engine)


def identity(config):
    """This design's part of the config hash: bytes of a granule and of a header, the values of
    ``Given``, and the formats of numbers in commands and items."""
    return {
        "granule": GRANULE_BYTES,
        "header": HEADER.size,
        "given": {each.name: each.value for each in Given},
        "fraction": FRACTION_WIDTH,
        "formats": [str(each) for each in (SCALE_FORMAT, EPSILON_FORMAT, ERROR_FORMAT)],
    }


def _suggest(config, fits):
    """Smaller configs to try: a tree with a smaller fanout. (The capacity is tried for every
    design.)"""
    fanouts = [config.replay.fanout >> k for k in range(1, config.replay.fanout.bit_length() - 1)]

    def holds(changes):
        return fits(replace(config, replay=replace(config.replay, **changes)))

    return suggest({"fanout": fanouts}, holds)


def draw_latency(config):
    """Clocks of a draw from the sum tree of a kernel that has a replay memory."""
    return config.replay.latency


def _sample_clocks(config, batch):
    """Clocks of a launch with a SAMPLE, if memory answers within the queues' capacity."""
    memory = latencies(config.engine)
    sample = sample_clocks(config, batch, CARTPOLE_GRANULES, **memory)
    return launch_clocks(config.engine, [sample], memory["read"])


DESIGN = Design(
    name="replay",
    summary=SUMMARIES["replay"],
    config_type=ReplayKernelConfig,
    default=default_config,
    core=ReplayCore,
    errors=REPLAY_ERRORS,
    records=lambda config: {"Lists and batches": [ITEM, HEADER]},
    largest="storage",
    storage=lambda config: (config.replay.capacity, config.engine.beat_bytes),
    estimate=ReplayCore.estimate,
    clocks=clocks,
    identity=identity,
    space=Space(
        operation="launch with a SAMPLE of {batch} experiences of 48 bytes",
        batch=lambda config: min(64, config.replay.capacity),
        fields=lambda config: {"replay.fanout": FANOUTS},
        clocks=_sample_clocks,
        axis="replay.fanout",
    ),
    suggest=_suggest,
    training=Training(
        words="dqn --learner cpu",
        fields=(RunField("capacity", "replay.capacity"),),
    ),
)
