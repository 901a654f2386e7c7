"""The configs of ``replay`` among which a search chooses: fanouts of the sum tree (CF'22 4.2)."""

from hw.replay.command_clocks import CARTPOLE_GRANULES, sample_clocks
from hw.shell.memory_clocks import latencies, launch_clocks
from hw.space import Space

__all__ = ["FANOUTS", "SPACE", "draw_latency"]

#: Children of a node.
FANOUTS = (2, 4, 8, 16, 32, 64)


def draw_latency(config):
    """Clocks of a draw from the sum tree of a kernel that has a replay memory."""
    return config.replay.latency


def _clocks(config, batch):
    """With memory that answers within what the kernel's queues hold."""
    memory = latencies(config.engine)
    sample = sample_clocks(config, batch, CARTPOLE_GRANULES, **memory)
    return launch_clocks(config.engine, [sample], memory["read"])


SPACE = Space(
    operation="launch with a SAMPLE of {batch} experiences of 48 bytes",
    batch=lambda config: min(64, config.replay.capacity),
    fields=lambda config: {"replay.fanout": FANOUTS},
    clocks=_clocks,
    axis="replay.fanout",
)
