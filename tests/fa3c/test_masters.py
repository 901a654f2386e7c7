"""The interconnects of the kernel are those that ``interconnects`` counts; memory is reached as the
config says."""

from dataclasses import replace

import pytest
from fa3c.test_kernel import APART, FIVE, SMALL, WIDE

from hw.fa3c.commands import IMAGES, buffers_of
from hw.fa3c.core import A3cCore
from hw.fa3c.estimate import masters
from hw.fa3c.masters import AHEAD, PORT_READ, PORT_WRITE, interconnects
from hw.shell.stripes import StripedRead, StripedWrite

CONFIGS = {
    "small": SMALL,
    "five units": FIVE,
    "apart": APART,
    "apart, eight local masters": replace(WIDE, global_masters=2, local_masters=8),
    "transposed image": replace(SMALL, layout="alt2"),
    "transposed image, apart": replace(WIDE, layout="alt2", global_masters=2),
}


@pytest.fixture(scope="module", params=CONFIGS)
def core(request):
    """A config, and the module of its core, without what is inside of its parts."""
    config = CONFIGS[request.param]
    return config, A3cCore(config).elaborate(None).submodules


def test_interconnects(core):
    config, parts = core
    found = interconnects(config)
    for (master, direction), wanted in found.items():
        assert getattr(parts, f"{master}_{direction}s").config == wanted, (master, direction)
    masters = {buffer.master for buffer in buffers_of(config)} | {"host"}
    assert found.keys() == {(m, direction) for m in masters for direction in ("read", "write")}


def test_stripes(core):
    """Each unit's parameters, a trainer's rollouts, snapshots and an inferrer's rollouts."""
    config, parts = core
    stripes = {"snapshot_stripes": StripedWrite}
    for number, role in enumerate(config.units):
        stripes[f"unit_{number}_parameters_stripes"] = StripedRead
        if role != "infer":
            stripes[f"unit_{number}_features_stripes"] = StripedRead
        if role != "train":
            stripes[f"unit_{number}_rollout_stripes"] = StripedWrite
    for name, kind in stripes.items():
        part = getattr(parts, name)
        assert isinstance(part, kind) and len(part.masters) == config.local_masters


@pytest.mark.parametrize("layout, writes", [("tlu", 1), ("alt1", 1), ("alt2", 2)])
def test_places_of_theta_and_squares(layout, writes):
    """An image with a master of its own is read a row a clock, from a memory of 64 clocks."""
    one = interconnects(replace(WIDE, layout=layout))
    two = interconnects(replace(WIDE, layout=layout, global_masters=2))
    assert one["global", "read"].depth == (AHEAD, PORT_READ) == (128, 64)
    assert one["global", "write"].depth == (PORT_WRITE,) * (writes + 1) == (32,) * (writes + 1)
    assert [two[image, "read"].depth for image in IMAGES] == [(AHEAD,)] * 2
    assert [two[image, "write"].ports for image in IMAGES] == [writes, 1]


def test_more_masters_take_more():
    for changes in (dict(global_masters=2), dict(local_masters=4), dict(layout="alt2")):
        for config in (WIDE, SMALL):
            more, less = masters(replace(config, **changes)), masters(config)
            assert more.ff > less.ff
