"""hw.learner.step against a memory behind a port: order, errors, what is kept and forgotten."""

import pytest

from hw.learner.step import Steps


@pytest.mark.parametrize("data_width", [128, 512])
def test_steps(simulate, data_width):
    simulate(Steps(data_width), "learner.step_bench", data_width=data_width)
