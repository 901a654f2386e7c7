"""hw.uart.receiver and hw.uart.transmitter, bit by bit; the limits of UartConfig."""

import pytest
from later import later
from uart.line_top import LineTop

from hw.uart.config import UartConfig


@pytest.mark.parametrize("skew", [0.0, 0.02, -0.02])
@pytest.mark.parametrize("divisor", [4, 5, later(20)])
def test_line(simulate, divisor, skew):
    simulate(LineTop(divisor), "uart.line_bench", divisor=divisor, skew=skew, seed=divisor)


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(clock_hz=0), "clock_hz must be an integer in 1000000..1000000000, not 0"),
        (dict(baud=4_000_000), "baud must be an integer in 300..3000000 for four clocks a bit"),
        (dict(clock_hz=13_600_000), r"baud must be within 2 % of clock_hz \(13600000\) over"),
        (dict(clock_hz=13_400_000), r"baud must be within 2 % of clock_hz \(13400000\) over"),
        (dict(payload=63), "payload must be an integer in 64..16384, not 63"),
        (dict(backlog=1 << 17), "backlog must be an integer in 64..65536, not 131072"),
        (dict(banks=()), r"banks must be 1 to 8 sizes, not \(\)"),
        (dict(banks=(4096,) * 9), "banks must be 1 to 8 sizes"),
        (dict(banks=(4096, 1 << 21)), "banks must be an integer in 4096..1048576, not 2097152"),
    ],
)
def test_config_rejects(change, message):
    with pytest.raises(ValueError, match=message):
        UartConfig(**{**dict(clock_hz=12_000_000, banks=(4096, 8192)), **change})


@pytest.mark.parametrize("mhz, divisor", [(12, 4), (45, 15), (60, 20), (70, 23), (75, 25)])
def test_divisor(mhz, divisor):
    config = UartConfig(clock_hz=mhz * 1_000_000, banks=[4096, 8192])
    assert config.divisor == divisor and config.bases == [1 << 20, 2 << 20]
    assert UartConfig.from_json(config.to_json()) == config
