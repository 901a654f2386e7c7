"""The design ``replay``: prioritized replay (CF'22, PEARL)."""

from hw.replay.config import ReplayConfig, ReplayKernelConfig
from hw.replay.core import ReplayCore
from hw.replay.records import HEADER, ITEM, REPLAY_ERRORS
from hw.replay.tree.manager import ReplayManager
from hw.shell.design import Design, default_engine

__all__ = ["DESIGN", "default_config"]


def default_config(numbers):
    """The largest power of two up to 2^20 whose memories fit; 4096 where there is no UltraRAM."""
    engine = default_engine(numbers)
    blocks = numbers.get("uram") or 0
    capacity = 1 << 20
    while blocks and capacity > 4096:
        config = ReplayConfig(capacity=capacity)
        if ReplayManager.estimate(config).uram <= blocks:
            return ReplayKernelConfig(replay=config, engine=engine)
        capacity //= 2
    return ReplayKernelConfig(replay=ReplayConfig(capacity=4096, ultra_ram=False), engine=engine)


DESIGN = Design(
    name="replay",
    summary="prioritized replay: sum tree, draws, gather and insert (CF'22, PEARL)",
    config_type=ReplayKernelConfig,
    default=default_config,
    core=ReplayCore,
    errors=REPLAY_ERRORS,
    records={"Lists and batches": [ITEM, HEADER]},
    largest="storage",
    storage=lambda config: (config.replay.capacity, config.engine.beat_bytes),
    estimate=ReplayCore.estimate,
)
