"""Raw commands of the kernel `replay`, through the launcher, on which every runtime is built.

The kernel's commands, fields and rules are in `registers.md`, beside its description.
"""

import argparse
from pathlib import Path

import numpy as np
from rlfabric.host.kernels import describe, generate
from rlfabric.host.programs.launcher import CommandError, Launcher
from rlfabric.hw.replay.commands import Opcode
from rlfabric.hw.replay.records import HEADER, ITEM

from rlfabric import open_card

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--card", default="model", help="model, sim, or xrt with --kernel")
options.add_argument("--kernel", type=Path, help="folder of kernel.json and replay.xclbin")
options = options.parse_args()

make = describe if options.card == "model" else generate
folder = options.kernel or make("replay", "u200", "build", capacity=1024)

with open_card(options.card) as card:
    kernel = card.load(folder / "kernel.json")
    kernel.check()  # the card has the kernel of this description
    launcher = Launcher(kernel, pointers={"storage": kernel.buffer("storage", 1 << 16)})

    # Eight experiences of one granule (16 bytes), and priorities 0, 1, 2 ... for them: one launch.
    records = np.arange(8 * 16, dtype=np.uint8).reshape(8, 16)
    items = np.array([(k, k << 16) for k in range(8)], ITEM.dtype)
    headers = launcher.run(
        [
            (Opcode.SETUP, {"capacity": 8, "granules": 1, "priority": 1 << 16}),
            (Opcode.SEED, {"state": np.random.SFC64(0).state["state"]["state"]}),
            (Opcode.INSERT, {"count": 8}),
            (Opcode.SET, {"count": 8, "source": 128}),
            (Opcode.GET, {"count": 8, "source": 128}),
        ],
        operands=[(0, records), (128, items)],
        results_bytes=8 * HEADER.size,
    ).view(HEADER.dtype)
    print("priorities", (headers["priority"] / (1 << 16)).tolist())

    # Draws in proportion to them: a batch is a header and an experience for each.
    batch = np.dtype([("header", HEADER.dtype), ("experience", np.uint8, 16)])
    draws = {"count": 8, "stratum_width": 1 << 48, "beta": 0}  # one stratum: uniform draws
    results = launcher.run([(Opcode.SAMPLE, draws)], results_bytes=8 * batch.itemsize).view(batch)
    print("drawn", results["header"]["index"].tolist())
    assert (results["experience"] == records[results["header"]["index"]]).all()

    # A bad command ends the launch with its reason; the commands before it are done.
    try:
        launcher.run([(Opcode.SAMPLE, {**draws, "count": 9})], results_bytes=9 * batch.itemsize)
    except CommandError as error:
        print("refused:", error)
    print("stored", int(launcher.status["fill"]), "clocks", launcher.cycles or "are not counted")
