"""Small networks that have every kind of pass, for tests of ``hw.fa3c``."""

from hw.fa3c.config import Fa3cConfig

__all__ = ["NETWORKS", "network"]

#: Two convolutions of bytes with strides, rows and columns that no tap reaches; three fully
#: connected layers of binary32; stride 1 and three convolutions; more chunks than one block.
NETWORKS = {
    "two": dict(height=15, width=16, channels=3, convolutions=((16, 4, 2), (24, 3, 2)), hidden=(20,)),
    "dense": dict(height=1, width=40, channels=1, binary32=True, convolutions=(), hidden=(50, 17)),
    "three": dict(
        height=9,
        width=8,
        channels=2,
        binary32=True,
        convolutions=((10, 3, 1), (16, 2, 1), (40, 3, 2)),
        hidden=(),
    ),
    "wide": dict(height=8, width=7, channels=40, convolutions=((17, 4, 1),), hidden=(16,)),
    "bytes": dict(height=2, width=50, channels=1, input_exponent=0, convolutions=(), hidden=(16,)),
}


def network(name, **settings):
    """``Fa3cConfig`` of one of ``NETWORKS``, one unit for each kind of task."""
    small = dict(outputs=5, units=("infer", "train"), agents=4, snapshots=2, batch=3, steps=2)
    return Fa3cConfig(**(NETWORKS[name] | small | settings))
