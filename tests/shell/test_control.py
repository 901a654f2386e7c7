"""hw.shell.control against the AXI4-Lite master of cocotbext-axi."""

from dataclasses import asdict

import pytest

from hw.shell.buffers import Buffer
from hw.shell.control import Control
from hw.shell.description import Argument, standard_arguments

SLOW = 0.8


def scalar(offset, name="x"):
    return Argument(id=0, name=name, kind="scalar", offset=offset)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([scalar(0xC)], r"offset of x must be a free word in 0x10\.\.0xffc, not 0xc"),
        ([scalar(0x12)], r"offset of x must be a free word in 0x10\.\.0xffc, not 0x12"),
        ([scalar(0x1000)], r"offset of x must be a free word in 0x10\.\.0xffc, not 0x1000"),
        ([scalar(0x10), scalar(0x10, "y")], r"offset of y must be a free word .*, not 0x10"),
        ([scalar(0x10, "start")], "name must be free, not 'start'"),
    ],
)
def test_rejects_arguments(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        Control(arguments)


@pytest.mark.parametrize(
    "extra", [(), (Buffer(name="storage", master="storage", large=True),)], ids=["bare", "storage"]
)
@pytest.mark.parametrize(
    "gaps",
    [
        (0,) * 5,
        (SLOW, 0, 0, 0, 0),
        (0, SLOW, 0, 0, 0),
        (0, 0, SLOW, 0, SLOW),
        pytest.param((0.4,) * 5, marks=pytest.mark.verilator),
    ],
    ids=["none", "aw", "w", "answers", "all"],
)
def test_register_map(simulate, extra, gaps):
    arguments = standard_arguments(extra)
    simulate(
        Control(arguments),
        "shell.control_bench",
        arguments=[asdict(a) for a in arguments],
        seed=1,
        gaps=gaps,
    )
