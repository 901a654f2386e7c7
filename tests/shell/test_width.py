"""hw.shell.width: wide words through narrow memories, and how fast."""

import pytest

from hw.shell.width import Gather, NarrowRead, NarrowWrite, Scatter

#: That of the kernel a3c, others.
WIDTHS = [
    (512, 128),
    *(pytest.param(*each, marks=pytest.mark.long) for each in ((64, 8), (32, 32))),
]


@pytest.mark.parametrize("make", [Gather, Scatter, NarrowRead, NarrowWrite])
@pytest.mark.parametrize("narrow", [0, 32, 40, 192])
def test_rejects(make, narrow):
    message = rf"^narrow must be wide \(96\) over a power of two, not {narrow}$"
    with pytest.raises(ValueError, match=message):
        make(96, narrow)


@pytest.mark.parametrize("wide, narrow", WIDTHS)
def test_read(simulate, wide, narrow):
    simulate(NarrowRead(wide, narrow), "shell.width_bench", wide=wide, narrow=narrow, way="read")


@pytest.mark.parametrize("wide, narrow", WIDTHS)
def test_write(simulate, wide, narrow):
    simulate(NarrowWrite(wide, narrow), "shell.width_bench", wide=wide, narrow=narrow, way="write")
