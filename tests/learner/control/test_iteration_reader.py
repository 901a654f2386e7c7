"""iteration_reader: order, errors, what is kept and forgotten."""

import pytest
from later import later

from hw.learner.control.iteration_reader import IterationReader


@pytest.mark.parametrize("data_width", [128, later(512)])
def test_steps(simulate, data_width):
    simulate(
        IterationReader(data_width), "learner.control.iteration_reader_bench", data_width=data_width
    )
