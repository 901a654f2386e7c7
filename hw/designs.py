"""Every design that can be generated: name -> how to configure, build, describe and document it.

A new kernel adds its line here; card, host, boards and command line find it by name.
"""

from collections.abc import Callable
from dataclasses import dataclass

from hw.replay import commands as replay
from hw.replay.config import ReplayConfig, ReplayKernelConfig
from hw.replay.core import ReplayCore
from hw.replay.manager import ReplayManager
from hw.shell.axi import EngineConfig
from hw.shell.kernel import Kernel, describe
from hw.shell.layout import Layout

__all__ = ["DESIGNS", "Design"]


@dataclass(frozen=True, kw_only=True)
class Design:
    """A kernel that can be generated.

    name, summary : str
    config_type : type
        Its config class.
    default : callable
        Config from a board's numbers: a dict with data_width (bits of a master), uram (blocks or
        None) and what else ``boards`` knows. Hardware sees numbers, never a board.
    core : callable
        Core from config.
    documents : dict of str to sequence of Layout
        Sections of the register document.
    commands, errors, status
        The command table, the error table, and the layout of the design's status block.
    storage : callable
        ``(count, bytes)`` of the items that its largest buffer must hold at least, from config.
    estimate : callable
        Resources and cycles from config; None where unknown.
    """

    name: str
    summary: str
    config_type: type
    default: Callable
    core: Callable
    sections: dict
    commands: dict
    errors: dict
    status: Layout
    storage: Callable
    estimate: Callable

    def kernel(self, config):
        return Kernel(self.name, self.core(config))

    def describe(self, config):
        return describe(self.name, config, self.core)

    def documents(self, config):
        return self.sections


def _replay(numbers):
    """The largest power of two up to 2^20 whose memories fit; 4096 where there is no UltraRAM."""
    # Bursts of 1 KB: a write waits until its burst is whole, so longer ones delay every batch.
    width = numbers["data_width"]
    engine = EngineConfig(data_width=width, burst_beats=8192 // width)
    blocks = numbers.get("uram") or 0
    capacity = 1 << 20
    while blocks and capacity > 4096:
        config = ReplayConfig(capacity=capacity)
        if ReplayManager.estimate(config)["uram"] <= blocks:
            return ReplayKernelConfig(replay=config, engine=engine)
        capacity //= 2
    return ReplayKernelConfig(replay=ReplayConfig(capacity=4096, ultra_ram=False), engine=engine)


DESIGNS = {
    design.name: design
    for design in [
        Design(
            name="replay",
            summary="prioritized replay: sum tree, draws, gather and insert (CF'22, PEARL)",
            config_type=ReplayKernelConfig,
            default=_replay,
            core=ReplayCore,
            sections={
                "Replay commands": list(replay.COMMANDS.values()),
                "Lists and batches": [replay.ITEM, replay.HEADER],
                "Replay status": [replay.REPLAY_STATUS],
            },
            commands=replay.COMMANDS,
            errors=replay.REPLAY_ERRORS,
            status=replay.REPLAY_STATUS,
            storage=lambda config: (config.replay.capacity, config.engine.beat_bytes),
            estimate=ReplayCore.estimate,
        ),
    ]
}
