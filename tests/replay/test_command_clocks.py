"""hw.replay.command_clocks against the simulated card, to the clock."""

import numpy as np
import pytest
from replay.kernels import NARROW, WIDE, kernel_config, opened

from bench.replay.kernel import measure
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from hw.designs import DESIGNS
from hw.replay.command_clocks import clocks, insert_clocks, sample_clocks, update_clocks
from hw.replay.config import ReplayConfig, ReplayKernelConfig
from hw.replay.records import GRANULE_BYTES
from hw.shell.axi import EngineConfig
from hw.shell.memory_clocks import READ, WRITE, latencies, launch_clocks
from sim.card.memory import MemoryConfig

#: Another memory; one that answers before a weight is there.
SLOW, FAST = dict(read=60, write=11), dict(read=4, write=2)
DEFAULT = dict(read=READ, write=WRITE)
#: Where memory is block RAM, queues are of lookup tables (hw.shell.design.default_engine).
SHORT = ReplayKernelConfig(
    replay=ReplayConfig(capacity=512, fanout=16, ultra_ram=False),
    engine=EngineConfig(data_width=128, depth=16, burst_beats=8, bursts=4),
)


def worked_out(config, count, granules, read, write):
    """What ``measure`` finds, by formula."""
    memory = dict(read=read, write=write)
    commands = {
        "INSERT": insert_clocks(config, count, granules, **memory),
        "UPDATE": update_clocks(config, count, read=read),
        "SAMPLE": sample_clocks(config, count, granules, **memory),
    }
    return {name: launch_clocks(config.engine, [each], read) for name, each in commands.items()}


def check(config, counts, sizes, memory):
    """``counts`` of experiences of ``sizes``, in granules."""
    options = MemoryConfig(read_latency=memory["read"], write_latency=memory["write"])
    with opened("sim", config, memory=options) as kernel:
        for granules in sizes:
            buffer = PrioritizedReplayBuffer(
                kernel,
                {"experience": (np.uint8, (GRANULE_BYTES * granules,))},
                capacity=config.replay.capacity,
                takeover=True,
            )
            buffer.step(np.zeros(buffer.capacity, buffer.dtype))
            for count in counts:
                found = measure(buffer, count)
                assert found == worked_out(config, count, granules, **memory), (granules, count)


@pytest.mark.parametrize("memory", [DEFAULT, FAST])
def test_clocks_of_a_launch(memory):
    """Draws, reads and the batch are the longest in turn; a burst, a part of one, and many."""
    check(WIDE, (1, 5, 32, 33, 64, 512), (1, 3, 5, 9), memory)
    check(NARROW, (1, 4, 31, 37), (1, 2, 4), memory)


@pytest.mark.long
@pytest.mark.parametrize("memory", [DEFAULT, SLOW])
@pytest.mark.parametrize("width", [128, 512])
@pytest.mark.parametrize("fanout", [4, 16, 64])
def test_clocks_of_other_kernels(fanout, width, memory):
    """No number was taken from these kernels."""
    config = kernel_config(width, capacity=4096, fanout=fanout)
    check(config, (32, 64, 512), (2, 3, 8), memory)


@pytest.mark.long
def test_short_queues():
    """Of memory that answers within what they hold, as ``clocks`` counts it."""
    check(SHORT, (1, 5, 64, 300), (1, 3), latencies(SHORT.engine))


def test_short_queues_by_formula():
    """The numbers that the kernel took, when ``test_short_queues`` was last seen to pass."""
    memory = latencies(SHORT.engine)
    assert memory == dict(read=4, write=4)
    taken = {(1, 1): [60, 66, 68], (5, 3): [85, 70, 92], (300, 3): [1265, 365, 1272]}
    for (count, granules), wanted in taken.items():
        assert [*worked_out(SHORT, count, granules, **memory).values()] == wanted
    found = worked_out(SHORT, 64, 3, **memory)
    assert sorted(clocks(SHORT).values()) == sorted(found.values()) == [129, 321, 328]


def test_several_commands():
    """A launch with all three has its program in fewer beats than three launches."""
    config, count = WIDE, 64
    with opened("sim", config) as kernel:
        buffer = PrioritizedReplayBuffer(
            kernel, {"experience": (np.uint8, (48,))}, capacity=3000, seed=0
        )
        records = np.zeros(3000, buffer.dtype)
        buffer.step(records)
        before = buffer.device_cycles
        buffer.step(records[:count], (range(count), np.ones(count)), [(count, 0.5)] * 2)
        commands = [
            update_clocks(config, count),
            insert_clocks(config, count, 3),
            *[sample_clocks(config, count, 3)] * 2,
        ]
        assert buffer.device_cycles - before == launch_clocks(config.engine, commands)


def test_the_design_has_them():
    """Of the simulated card's memory, where queues are long enough for it."""
    found = DESIGNS["replay"].clocks(WIDE)
    assert len(found) == 3 and all("64 experiences of 48 bytes" in name for name in found)
    assert sorted(found.values()) == sorted(worked_out(WIDE, 64, 3, **DEFAULT).values())
    assert all("of 37 experiences" in name for name in clocks(NARROW)), "as many as it holds"
