"""hw.shell.control against the AXI4-Lite master of cocotbext-axi."""

from dataclasses import asdict

import pytest
from later import later

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


_BARE, _STORAGE = (), (Buffer(name="storage", master="storage", large=True),)
_NONE, _ALL = (0,) * 5, (0.4,) * 5
#: Each way to be slow beside one of the register maps.
_SLOW = {"aw": (SLOW, 0, 0, 0, 0), "w": (0, SLOW, 0, 0, 0), "answers": (0, 0, SLOW, 0, SLOW)}


@pytest.mark.parametrize(
    "extra, gaps",
    [
        pytest.param(_BARE, _NONE, id="bare-none"),
        # Each of the others is slow now and then in storage-all.
        pytest.param(_STORAGE, _SLOW["aw"], id="storage-aw"),
        *(later(_STORAGE, _SLOW[name], id=f"storage-{name}") for name in ("w", "answers")),
        pytest.param(_STORAGE, _ALL, id="storage-all", marks=pytest.mark.verilator),
        later(_STORAGE, _NONE, id="storage-none"),
        *(later(_BARE, gaps, id=f"bare-{name}") for name, gaps in _SLOW.items()),
        later(_BARE, _ALL, id="bare-all"),
    ],
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
