"""hyperparameter_reader: order, errors, what is kept and forgotten."""

import pytest

from hw.learner.control.hyperparameter_reader import HyperparameterReader


@pytest.mark.parametrize("data_width", [128, 512])
def test_steps(simulate, data_width):
    simulate(
        HyperparameterReader(data_width),
        "learner.control.hyperparameter_reader_bench",
        data_width=data_width,
    )
