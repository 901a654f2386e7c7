"""The kernel that each board gets by default."""

import pytest

import boards
from host.kernels import configure
from hw.designs import DESIGNS

_DESIGN = DESIGNS["a3c"]


@pytest.mark.parametrize(
    "board, lanes, units, rows", [("u200", 4, 4, 81), ("u50", 4, 4, 81), ("zcu106", 2, 2, 64)]
)
def test_default(board, lanes, units, rows):
    """FA3C's network and size on large parts, a pair of 32 PEs for MinAtar on the ZCU106: more
    would wait for memory."""
    config = configure(_DESIGN, boards.get(board), {})
    assert (config.lanes, len(config.units)) == (lanes, units)
    assert config.engine.data_width == boards.get(board).data_width
    last = config.layers[len(config.convolutions) - 1]
    assert last.out_height * last.out_width == rows


def test_what_is_too_large_says_what_would_fit():
    """Eight lanes on the ZCU106; nothing on the ULX3S."""
    board = boards.get("zcu106")
    with pytest.raises(boards.DoesNotFit, match="lut must be at most 161280 on ZCU106"):
        configure(_DESIGN, board, {"lanes": 8})
    refusal = r"lut must be at most 67713 on ULX3S-85F .*, not \d+ or more; nothing"
    with pytest.raises(boards.DoesNotFit, match=refusal):
        configure(_DESIGN, boards.get("ulx3s"), {})
