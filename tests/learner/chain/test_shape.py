"""hw.learner.chain.config: which shapes a chain may have."""

import pytest

from hw.learner.chain.config import LayerShape


@pytest.mark.parametrize(
    "inputs, vector, length, clocks, drain",
    [(8, 4, 2, 16, 17), (8, 4, 4, 8, 19), (4, 4, 2, 8, 17), (16, 4, 8, 8, 23)],
)
def test_chains_that_drain_too_slowly(inputs, vector, length, clocks, drain):
    """Survivor 29: PEs are a bubble apart, so that the sums of 2 PEs of 8 outputs take 17 clocks;
    a sample of 2 input words has 16."""
    message = (
        f"^length must be small enough to drain in a sample's {clocks} clocks, not {length} "
        rf"\(it drains in {drain}\)$"
    )
    with pytest.raises(ValueError, match=message):
        LayerShape(inputs=inputs, outputs=16, vector=vector, length=length)


@pytest.mark.parametrize("inputs, vector, length, drain", [(9, 4, 2, 17), (8, 1, 4, 19)])
def test_chains_that_drain_in_time(inputs, vector, length, drain):
    shape = LayerShape(inputs=inputs, outputs=16, vector=vector, length=length)
    assert shape.drain == drain <= shape.cycles
