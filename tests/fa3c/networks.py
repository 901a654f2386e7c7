"""Small networks and their numbers, for all tests of FA3C."""

import random

import numpy as np

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.rows import ROW, ROW_BYTES

__all__ = ["NETWORKS", "network", "observations", "random_networks", "theta"]


def network(**changes):
    """A config of a few hundred parameters, of which some are ``changes``."""
    small = dict(
        height=7,
        width=6,
        channels=3,
        convolutions=((5, 3, 2),),
        hidden=(9,),
        outputs=4,
        lanes=2,
        units=("infer", "train"),
        batch=2,
        steps=3,
        agents=3,
        snapshots=2,
        tasks=6,
        parameter_rows=1024,
    )
    return Fa3cConfig(**{**small, **changes})


#: Every kind of layer: strides, kernels, odd sizes, what is cut off, bytes and binary32, lanes.
NETWORKS = {
    # The one that the RTL's quick test has: taps of the second convolution lie over one another;
    # survivor 02: more agents in an inference than two bits count.
    "smallest": network(
        height=6,
        width=6,
        channels=1,
        convolutions=((4, 2, 1), (4, 3, 2)),
        hidden=(),
        lanes=1,
        steps=2,
        batch=5,
        agents=5,
    ),
    # Errors go back through the second convolution; few places, for it runs under Icarus.
    "two convolutions": network(
        height=4,
        width=4,
        channels=1,
        convolutions=((4, 2, 1), (4, 2, 2)),
        hidden=(),
        outputs=2,
        lanes=1,
        steps=2,
    ),
    "usual": network(),
    "one lane": network(lanes=1, binary32=True),
    "four lanes": network(lanes=4, convolutions=((17, 2, 1), (5, 3, 2)), height=9, width=10),
    "eight lanes": network(lanes=8, convolutions=((5, 3, 3), (33, 2, 2)), height=20, width=15),
    "sixteen lanes": network(lanes=16, convolutions=((3, 2, 2), (18, 1, 1)), hidden=(), width=5),
    # Fewer chunks in a tap row than the sums of GC need: a sweep takes all four tap rows.
    "joined tap rows": network(lanes=4, channels=2, convolutions=((5, 4, 2),), height=9, width=8),
    "kernel of one": network(convolutions=((4, 1, 1), (4, 4, 3)), height=8, width=4),
    "three layers": network(
        convolutions=((4, 3, 1), (4, 3, 2), (4, 2, 1)), height=10, width=9, binary32=True, lanes=1
    ),
    "long lines": network(convolutions=((3, 4, 1),), height=5, width=30, channels=17, lanes=2),
    "several blocks": network(convolutions=((4, 5, 2),), channels=32, width=8, lanes=2),
    "one layer": network(
        height=1, width=1, channels=5, convolutions=(), hidden=(), lanes=1, binary32=True, steps=2
    ),
    "vectors": network(height=1, width=1, channels=21, convolutions=(), hidden=(17, 5), lanes=4),
    # The slots of a PE are too few for two partial sums of 20 samples.
    "long rollouts": network(
        height=1,
        width=1,
        channels=5,
        convolutions=(),
        hidden=(17,),
        lanes=1,
        binary32=True,
        steps=20,
    ),
    "vectors of words": network(
        height=1, width=1, channels=21, convolutions=(), hidden=(17,), lanes=1, binary32=True
    ),
    "wide vectors": network(
        height=1, width=1, channels=200, convolutions=(), hidden=(), lanes=4, outputs=17
    ),
    "wide hidden": network(
        height=1, width=1, channels=500, convolutions=(), hidden=(), lanes=8, binary32=True
    ),
}


def random_networks(count, seed):
    """Configs of any shape that are allowed and small."""
    rng, found = random.Random(seed), []
    while len(found) < count:
        kernels = [rng.randint(1, 6) for _ in range(rng.randint(0, 3))]
        try:
            config = network(
                height=rng.randint(1, 24),
                width=rng.randint(1, 24),
                channels=rng.randint(1, 9) if kernels else rng.randint(1, 300),
                convolutions=[
                    (rng.choice([1, 3, 16, 17, 33]), kernel, rng.randint(1, kernel))
                    for kernel in kernels
                ],
                hidden=[rng.choice([1, 16, 17, 40]) for _ in range(rng.randint(0, 2))],
                outputs=rng.randint(2, 34),
                lanes=rng.choice([1, 2, 4, 8, 16]),
                binary32=rng.random() < 0.5,
                parameter_rows=4096,
            )
        except ValueError:
            continue
        if sum(layer.products for layer in config.layers) <= 40_000:
            found.append(config)
    return found


def theta(config, rng, scale=0.3):
    """Random rows [theta_rows, 16], also where nothing is read."""
    return (scale * rng.standard_normal((config.theta_rows, ROW))).astype(np.float32)


def observations(config, rng, count):
    """Random observations as in memory, uint8 [count, bytes]: about half of the numbers are 0."""
    shape = (count, config.map_rows[0] * ROW_BYTES // (4 if config.binary32 else 1))
    zero = rng.random(shape) < 0.5
    if config.binary32:
        return np.where(zero, 0, rng.standard_normal(shape)).astype(np.float32).view(np.uint8)
    return np.where(zero, 0, rng.integers(0, 256, shape)).astype(np.uint8)
