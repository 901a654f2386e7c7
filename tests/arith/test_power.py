"""hw.arith.power: twin against float64 powers of two, hardware against the twin."""

import numpy as np
import pytest
from arith.vectors import check_stream, words

from hw.arith.power import LOG_FORMAT, Power, PowerConfig
from sim.model.arith.power import power


def operands(count):
    """Corners of the logarithm, then random ones of every size."""
    rng = np.random.default_rng(4)
    corners = [LOG_FORMAT.low, LOG_FORMAT.low + 1, -1, 0, 1, LOG_FORMAT.high - 1, LOG_FORMAT.high]
    values = rng.integers(LOG_FORMAT.low, LOG_FORMAT.high, count) >> rng.integers(0, 26, count)
    return np.concatenate([corners, values])


def test_config_rejects():
    with pytest.raises(ValueError, match="tag_width must be an integer in 0..4096, not -1"):
        PowerConfig(tag_width=-1)


@pytest.mark.parametrize("scale", [0, 1, 13107, 32767, 32768, 65535])
def test_twin_is_the_power(scale):
    log = operands(20_000)
    mantissa, exponent = power(log, scale, PowerConfig())
    assert mantissa.min() >= 1 << 24 and mantissa.max() < 2 << 24
    assert exponent.min() >= -128 and exponent.max() <= 127
    exact = np.exp2(LOG_FORMAT.to_float(log) * (scale * 2.0**-15))
    # Half a unit of the exponent is 2^-21.5, the mantissa's own error 2^-19.9.
    bound = 2.0**-21.5 + 2.0**-19.9
    assert abs(np.ldexp(mantissa * 2.0**-24, exponent) / exact - 1).max() <= bound
    if scale == 0:
        assert (mantissa == 1 << 24).all() and not exponent.any()


@pytest.mark.parametrize("scale, tag_width", [(13107, 0), (32768, 3), (65535, 1)])
def test_matches_twin(simulate, tmp_path, scale, tag_width):
    config = PowerConfig(tag_width=tag_width)
    log = operands(300)
    tag = np.random.default_rng(5).integers(0, 1 << tag_width, len(log))
    mantissa, exponent = power(log, scale, config)
    check_stream(
        simulate,
        tmp_path,
        Power(config),
        words(config.i_layout, log=log, tag=tag),
        words(config.o_layout, mantissa=mantissa, exponent=exponent, tag=tag),
        inputs={"scale": scale},
    )
    assert Power.LATENCY == 6
