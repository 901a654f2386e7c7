"""hw.shell.width_conversion: wide words through narrow memories, and how fast."""

import pytest

from hw.shell.width_conversion import Downsizer, NarrowRead, NarrowWrite, Upsizer

#: That of the kernel a3c, others.
WIDTHS = [
    (512, 128),
    *(pytest.param(*each, marks=pytest.mark.long) for each in ((64, 8), (32, 32))),
]


PORTS = [NarrowRead, NarrowWrite]
#: Words of the longest request in the benches.
MOST = 20

BENCH = "shell.width_conversion_bench"


@pytest.mark.parametrize("make", [Upsizer, Downsizer, *PORTS])
@pytest.mark.parametrize("narrow", [0, 32, 40, 192])
def test_rejects(make, narrow):
    message = rf"^narrow must be wide \(96\) over a power of two, not {narrow}$"
    with pytest.raises(ValueError, match=message):
        make(96, narrow, *[MOST] * (make in PORTS))


@pytest.mark.parametrize("make", PORTS)
def test_beats_that_a_request_cannot_count(make):
    """hw_core 14: 2**22 words of four beats were 0 beats, which nothing answers."""
    assert make(512, 128, (1 << 22) - 1) and make(512, 512, (1 << 24) - 1)
    with pytest.raises(
        ValueError, match=r"^most must be an integer in 1..4194303 .*, not 4194304$"
    ):
        make(512, 128, 1 << 22)
    with pytest.raises(ValueError, match="^most must be an integer in 1..4194303 "):
        make(512, 128, 0)


@pytest.mark.parametrize("wide, narrow", WIDTHS)
def test_read(simulate, wide, narrow):
    simulate(
        NarrowRead(wide, narrow, MOST),
        BENCH,
        wide=wide,
        narrow=narrow,
        way="read",
    )


@pytest.mark.parametrize("wide, narrow", WIDTHS)
def test_write(simulate, wide, narrow):
    simulate(
        NarrowWrite(wide, narrow, MOST),
        BENCH,
        wide=wide,
        narrow=narrow,
        way="write",
    )
