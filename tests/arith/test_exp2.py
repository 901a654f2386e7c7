"""hw.arith.exp2: table and twin against NumPy's power of two, hardware against the twin."""

import numpy as np
import pytest
from arith.vectors import check_stream, words

from hw.arith.exp2 import Exp2, Exp2Config, exp2_table
from sim.model.arith.exp2 import exp2


def test_config_rejects():
    with pytest.raises(ValueError, match="tag_width must be an integer in 0..4096, not 1.5"):
        Exp2Config(tag_width=1.5)


def test_table_is_the_power():
    points = np.array(exp2_table().points)
    assert len(points) == 257 and points[0] == 2**24 and points[-1] == 2**25
    assert abs(points - np.exp2(np.arange(257) / 256) * 2**24).max() < 0.5 + 1e-6


def test_error_of_every_fraction():
    fraction = np.arange(1 << 20)
    mantissa = exp2(fraction, Exp2Config())
    error = mantissa * 2.0**-24 / np.exp2(fraction * 2.0**-20) - 1
    assert -(2.0**-24) <= error.min() and error.max() <= 2.0**-19.9
    assert mantissa[0] == 1 << 24 and mantissa[-1] < 2 << 24 and (np.diff(mantissa) >= 0).all()


@pytest.mark.parametrize("tag_width", [0, 9])
def test_matches_twin(simulate, tmp_path, tag_width):
    config = Exp2Config(tag_width=tag_width)
    rng = np.random.default_rng(3)
    top = (1 << 20) - 1
    fraction = [0, 1, 4095, 4096, 4097, 8191, top - 4096, top - 4095, top - 1, top]
    fraction = np.concatenate([fraction, rng.integers(0, top, 300, endpoint=True)])
    tag = rng.integers(0, 1 << tag_width, len(fraction))
    check_stream(
        simulate,
        tmp_path,
        Exp2(config),
        words(config.i_layout, fraction=fraction, tag=tag),
        words(config.o_layout, mantissa=exp2(fraction, config), tag=tag),
    )
    assert Exp2.LATENCY == 3
