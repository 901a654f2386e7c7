"""The kernels ``dqn`` and ``ddpg`` on AXI models that nobody here wrote, under back-pressure."""

import axi
import pytest
from learner.core_programs import TrainingPrograms
from learner.learning import SMALL, kernel_config
from replay.programs import CLOCKS

from hw.learner.records import REPORT


@pytest.mark.long
@pytest.mark.parametrize("algorithm, data_width", [("dqn", 512), ("ddpg", 128), ("td3", 128)])
def test_learning_under_back_pressure(simulate, tmp_path, algorithm, data_width):
    """Parameters loaded and stored, experiences inserted, whole iterations in between; also
    where other things come first at time 0."""
    config = kernel_config(data_width, capacity=37, algorithm=algorithm, **SMALL)
    source = TrainingPrograms(config, 5)
    launches, reports = zip(source.first(), *(source.program(4) for _ in range(3)), strict=True)
    unknown = [[place + REPORT.offsets["cycles"] for place in places] for places in reports]
    outcomes = [[launch.command_count, 0] for launch in launches]
    axi.run(simulate, tmp_path, algorithm, config, launches, outcomes, gap=0.3, clocks=CLOCKS,
            unknown=unknown, limit_us=4000, again="icarus-2005")  # fmt: skip
