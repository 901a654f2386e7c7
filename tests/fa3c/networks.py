"""Small networks that have every kind of pass, for tests of ``hw.fa3c``."""

from hw.fa3c.config import Fa3cConfig

__all__ = ["NETWORKS", "network"]

#: In order: strides, rows and columns that no tap reaches, filled-up channels and outputs; fully
#: connected layers alone, of binary32; stride 1, several groups, no hidden layer; more chunks than
#: a block of GC has slots; bytes that enter a fully connected layer.
NETWORKS = {
    "two": dict(
        height=12, width=13, channels=3, convolutions=((16, 4, 2), (24, 3, 2)), hidden=(20,)
    ),
    "dense": dict(height=1, width=40, channels=1, binary32=True, convolutions=(), hidden=(50, 17)),
    "three": dict(
        height=7,
        width=6,
        channels=2,
        binary32=True,
        convolutions=((10, 2, 1), (16, 2, 1), (20, 3, 1)),
        hidden=(),
    ),
    "wide": dict(height=5, width=4, channels=48, convolutions=((17, 3, 1),), hidden=(16,)),
    "bytes": dict(height=2, width=50, channels=1, input_exponent=0, convolutions=(), hidden=(16,)),
}


def network(name, **settings):
    """``Fa3cConfig`` of one of ``NETWORKS``, one unit for each kind of task."""
    small = dict(outputs=5, units=("infer", "train"), agents=4, snapshots=2, batch=3, steps=2)
    return Fa3cConfig(**(NETWORKS[name] | small | settings))
