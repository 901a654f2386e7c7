"""The whole kernel on the simulated card: a batch of 512, and how fast the card simulates."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from bench import row
from host.cards import open_card
from host.explore.launch_clocks import launch_clocks
from host.kernels import generate
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from hw.errors import Failure
from hw.replay.command_clocks import insert_clocks, sample_clocks, update_clocks
from hw.replay.commands import Opcode
from hw.replay.records import GRANULE_BYTES
from hw.shell import memory_clocks
from hw.shell.status_block import STATUS
from sim.card.memory import MemoryConfig
from system.tools import BUILD_DIRECTORY

__all__ = ["measure", "rows", "sample_bound"]

ROOT = Path(__file__).parents[2]

BATCH = 512
CAPACITY = 1 << 20
_FIELDS = {
    "obs": (np.float32, (4,)),
    "next_obs": (np.float32, (4,)),
    "action": (np.int32, ()),
    "reward": (np.float32, ()),
}  # 40 bytes


def sample_bound(batch, beats, memory, *, status_beats):
    """Clocks that memory alone needs for a launch with one SAMPLE of ``batch`` experiences.

    ``beats`` are those of an experience, ``memory`` is a ``MemoryConfig``, and ``status_beats`` are
    the beats of the status block. Four accesses must follow each other: the program's read, the
    experiences' reads (one beat in a clock, the first after the read latency), the batch's last
    write, the status block's write: ``read + (read + batch * beats / bandwidth) + write + (status
    beats + write)``. The tree, the draw and every engine count as 0.
    """
    return round(
        memory.read_latency
        + memory.read_latency
        + batch * beats / memory.bandwidth
        + memory.write_latency
        + status_beats
        + memory.write_latency
    )


def _filled(kernel):
    """A full buffer with different priorities."""
    buffer = PrioritizedReplayBuffer(kernel, _FIELDS, capacity=CAPACITY, seed=1)
    rng, part = np.random.default_rng(0), 1 << 15
    for _ in range(CAPACITY // part):
        buffer.add(
            obs=rng.random((part, 4)),
            next_obs=rng.random((part, 4)),
            action=rng.integers(0, 4, part),
            reward=rng.random(part),
        )
    indexes = rng.choice(CAPACITY, 1 << 16, replace=False)
    buffer.update_priorities(indexes, rng.normal(size=len(indexes)))
    return buffer


def measure(buffer, count):
    """``{command: clocks}`` of launches with a SAMPLE, an INSERT and an UPDATE of ``count``, in a
    full buffer; the experiences of the INSERT go to the first places."""
    rng, place = np.random.default_rng(count), {"position": 0, "fill": buffer.capacity}
    records = np.zeros(count, buffer.dtype)
    indexes = rng.choice(buffer.capacity, count, replace=False)
    steps = {
        "INSERT": lambda: buffer.step(records),
        "UPDATE": lambda: buffer.step(update=(indexes, rng.normal(size=count))),
        "SAMPLE": lambda: buffer.step(sample=(count, 0.5)),
    }
    maximum = int(buffer.status["maximum"])
    buffer.launcher.run([(Opcode.RESTORE, {**place, "maximum": maximum})])
    return {name: launch_clocks(buffer, step) for name, step in steps.items()}


def rows():
    """The list of rows generate_seconds; kernel_sample_cycles and its three parts, with the bound
    of ``sample_bound``; kernel_insert_cycles and kernel_update_cycles, with the formulas' clocks;
    and sim_cycles_per_second and sim_speedup of the simulated card."""
    result = []
    for fanout in (16, 64):
        start = time.perf_counter()
        generate("replay", "u200", BUILD_DIRECTORY / "bench", fanout=fanout)
        result.append(
            row("replay", f"N=2^20, K={fanout}, whole kernel", "generate_seconds",
                round(time.perf_counter() - start, 2), "s", reference="at most",
                reference_value=15, source="make verilog, on this machine")
        )  # fmt: skip
    directory = generate("replay", "u200", BUILD_DIRECTORY)
    memory = MemoryConfig()
    case = f"N=2^20, K=16, B={BATCH}, 40-byte experiences"
    with open_card("sim", memory=memory) as card:
        buffer = _filled(card.load(directory / "kernel.json"))
        found, status = measure(buffer, BATCH), buffer.status
        cycles, beats = found["SAMPLE"], 1
        status_beats = (STATUS.size + status.dtype.itemsize) // buffer.config.engine.beat_bytes
        bound = sample_bound(BATCH, beats, memory, status_beats=status_beats)
        source = "RTL on the simulated card, default memory"
        result += [
            row(
                "replay",
                case,
                "kernel_sample_cycles",
                cycles,
                "cycles",
                reference="kernel_sample_bound x 1.2",
                reference_value=round(1.2 * bound),
                source=source,
            ),
            row(
                "replay",
                case,
                "kernel_sample_bound",
                bound,
                "cycles",
                source="bench.replay.kernel.sample_bound",
            ),
        ]
        for part in ("draw", "gather", "write"):
            result.append(
                row(
                    "replay",
                    case,
                    f"kernel_{part}_cycles",
                    int(status[f"{part}_cycles"]),
                    "cycles",
                    source=source,
                )
            )
        result += [*_by_formula(buffer, case, found), *_simulation(buffer)]
    return result


def _by_formula(buffer, case, found):
    """Rows of the clocks that ``measure`` gave, beside ``hw.replay.command_clocks``."""
    config, granules = buffer.config, buffer.dtype.itemsize // GRANULE_BYTES
    worked = {
        "SAMPLE": sample_clocks(config, BATCH, granules),
        "INSERT": insert_clocks(config, BATCH, granules),
        "UPDATE": update_clocks(config, BATCH),
    }
    return [
        row("replay", case, f"kernel_{name.lower()}_cycles", found[name], "cycles",
            reference="worked out, hw.replay.command_clocks",
            reference_value=memory_clocks.launch_clocks(config.engine, [clocks]),
            source="RTL on the simulated card, default memory")
        for name, clocks in worked.items()
    ]  # fmt: skip


def _simulation(buffer):
    """Simulated clocks a second of one core, beside the same kernel under cocotb."""
    program = [(Opcode.SAMPLE, {"count": BATCH, "stratum_width": (1 << 48) // BATCH})] * 64
    size = BATCH * buffer.batch_dtype.itemsize
    rates = []
    for _ in range(5):
        before, start = buffer.device_cycles, time.process_time()
        buffer.launcher.run(program, results_bytes=size)
        rates.append((buffer.device_cycles - before) / (time.process_time() - start))
    rate = sorted(rates)[len(rates) // 2]
    slow = _cocotb_rate()
    case, source = "N=2^20, K=16", "processor time of one core, median of 5"
    return [
        row(
            "replay",
            case,
            "sim_cycles_per_second",
            round(rate),
            "cycles/s",
            reference="at least",
            reference_value=400_000,
            source=source,
        ),
        row(
            "replay",
            case,
            "sim_speedup",
            round(rate / slow, 1),
            "x",
            reference="the same kernel under cocotb and Verilator, cycles/s",
            reference_value=round(slow),
            source=source,
        ),
    ]


def _cocotb_rate():
    """Clocks a second of the kernel under cocotb, with cocotbext-axi's memories."""
    result = subprocess.run(
        [sys.executable, "tests/replay/cocotb_kernel.py"],
        text=True,
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    found = re.search(r"^rate (\S+)$", result.stdout, re.M)
    if result.returncode or not found:
        raise Failure(
            f"the cocotb run must succeed, not fail:\n"
            f"{result.stdout[-2000:]}{result.stderr[-2000:]}"
        )
    return float(found[1])
