"""The simulated card: seconds to generate and to compile the kernel, clocks a second; each beside
the number for the kernel ``replay`` in the same run.

Run as a module, it measures one design in the build folder that the environment names; the folder
must be empty.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bench import row
from host.a3c.card_network import ActorCritic, Infer, Sync
from host.cards import open_card
from host.explore.round_clocks import random_parameters, screens_of
from host.kernels import generate
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from hw.replay.commands import Opcode
from system.tools import BUILD_DIRECTORY

__all__ = ["rows"]

_SOURCE = "this run, one core, an empty build folder"
_BATCH = 512


def _actor_critic(kernel):
    """Loads and syncs a network; returns a launch of 190 k clocks, an inference of four agents."""
    network, rng = ActorCritic(kernel), np.random.default_rng(0)
    config = network.config
    network.load(random_parameters(config, rng))
    network.run([Sync(snapshot=0)])
    screens, agents, step = screens_of(config, 4, rng), (0, 1, 2, 3), None

    def launch():
        network.run([Infer(unit=0, snapshot=0, agents=agents, observations=screens, step=step)])
        return network.device_cycles

    return launch


def _replay(kernel):
    """Fills a buffer; returns a launch of 64 draws of 512 experiences each."""
    buffer = PrioritizedReplayBuffer(kernel, {"x": ("<f4", (10,))}, capacity=4096)
    buffer.add(x=np.zeros((4096, 10), np.float32))
    program = [(Opcode.SAMPLE, {"count": _BATCH, "stratum_width": (1 << 48) // _BATCH})] * 64

    def launch():
        buffer.launcher.run(program, results_bytes=_BATCH * buffer.batch_dtype.itemsize)
        return buffer.device_cycles

    return launch


def _measure(design):
    """``{generate_seconds, build_seconds, clocks_per_second}`` of processor time."""
    start = time.perf_counter()
    folder = generate(design, "u200", BUILD_DIRECTORY / "bench" / design)
    generated = time.perf_counter()
    with open_card("sim") as card:
        kernel = card.load(folder / "kernel.json")
        built = time.perf_counter()
        launch = {"a3c": _actor_critic, "replay": _replay}[design](kernel)
        before = launch()
        used = time.process_time()
        after = launch()
        used = time.process_time() - used
    return {
        "generate_seconds": generated - start,
        "build_seconds": built - generated,
        "clocks_per_second": (after - before) / used,
    }


def rows():
    """The list of rows generate_seconds, build_seconds and clocks_per_second of the kernel ``a3c``
    on the simulated card. Each has the number of the kernel ``replay`` as its reference."""
    found = {}
    for design in ("a3c", "replay"):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-m", "bench.fa3c.card", design],
                env=os.environ | {"RLFABRIC_BUILD": folder},
                cwd=Path(__file__).parents[2],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            found[design] = json.loads(done.stdout)
    units = {"generate_seconds": "s", "build_seconds": "s", "clocks_per_second": "1/s"}
    return [
        row("fa3c", "kernel a3c of 2 pairs of 64 PEs", name, round(value, 1), units[name],
            reference="kernel replay", reference_value=round(found["replay"][name], 1),
            source=_SOURCE)
        for name, value in found["a3c"].items()
    ]  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1])))
