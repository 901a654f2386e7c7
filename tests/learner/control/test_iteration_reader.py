"""iteration_reader: order, errors, what is kept and forgotten."""

import pytest
from later import later

from hw.learner.control.iteration_reader import IterationReader
from hw.learner.records import HYPERPARAMETERS, STEP


@pytest.mark.parametrize(
    "data_width, record", [(128, HYPERPARAMETERS), later(512, HYPERPARAMETERS), (512, STEP)]
)
def test_steps(simulate, data_width, record):
    simulate(
        IterationReader(data_width, record),
        "learner.control.iteration_reader_bench",
        data_width=data_width,
        size=record.size,
    )
