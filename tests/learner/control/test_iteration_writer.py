"""iteration_writer against a memory behind a port: beats, addresses, when it is idle."""

import pytest
from later import later

from hw.learner.control.iteration_writer import IterationWriter


@pytest.mark.parametrize("data_width", [128, later(512)])
def test_reports(simulate, data_width):
    simulate(
        IterationWriter(data_width), "learner.control.iteration_writer_bench", data_width=data_width
    )
