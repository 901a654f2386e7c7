"""Clocks of batches at the manager's streams, counted in the RTL, beside PEARL's equations 4, 5."""

import random

from bench import row
from hw.replay.config import ReplayConfig
from hw.replay.tree.manager import ReplayManager
from hw.replay.tree.operations import Operation
from sim.streams import StreamUnit

__all__ = ["FANOUTS", "rows"]

CAPACITY = 1 << 20
#: Fanout -> batches. PEARL's equation 4 is smallest with 2 children a node.
FANOUTS = {2: (512,), **dict.fromkeys((16, 64), (32, 64, 256, 512))}

_SOURCE = "RTL under Verilator, first request to last response"


def _requests(config, operations, rng):
    """Words of the request stream: random leaves, random priorities."""
    shift = 3 + config.index_width
    return [
        operation.value
        | rng.randrange(config.capacity) << 3
        | rng.randrange(1, config.priority_limit) << shift
        for operation in operations
    ]


def _reference(config, operations):
    """PEARL eq. 4 for SAMPLE, eq. 5 for the others; in a mix, each operation at its own rate."""
    samples = sum(operation == Operation.SAMPLE for operation in operations)
    batch, depth = len(operations), config.depth
    per = (2 * config.fanout * samples + 2 * (batch - samples)) / batch
    return round(per * (batch + depth))


def rows():
    """The list of rows sample_cycles, set_cycles, get_cycles and mixed_cycles (all three operations
    at random), for each of FANOUTS and its batches."""
    result = []
    for fanout, batches in FANOUTS.items():
        config = ReplayConfig(capacity=CAPACITY, fanout=fanout)
        case = f"N=2^20, K={fanout}"
        unit = StreamUnit(ReplayManager(config), name="replay_manager")
        unit.wait("idle", 1, 2 * CAPACITY)
        unit.set("seed", 0x123456789ABCDEF << 64)
        unit.set("load", 1)
        unit.step()
        unit.set("load", 0)
        unit.set("stratum_width", 1 << 48)
        rng = random.Random(0)
        unit.run(_requests(config, [Operation.SET] * 20_000, rng))
        for batch in batches:
            for metric, choices in (
                ("sample", [Operation.SAMPLE]),
                ("set", [Operation.SET]),
                ("get", [Operation.GET]),
                ("mixed", [Operation.SAMPLE, Operation.SET, Operation.GET]),
            ):
                operations = [rng.choice(choices) for _ in range(batch)]
                _, clocks = unit.run(_requests(config, operations, rng))
                result.append(
                    row(
                        "replay",
                        f"{case}, B={batch}",
                        f"{metric}_cycles",
                        clocks,
                        "cycles",
                        reference="PEARL eq. 4, 5",
                        reference_value=_reference(config, operations),
                        source=_SOURCE,
                    )
                )
        unit.close()
    return result
