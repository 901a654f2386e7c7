"""job_core and job_dispatcher: jobs beside commands, the batch and the items on streams."""

import pytest
from later import later
from paces import CROSSED, DIAGONAL
from replay.kernels import kernel_config

from hw.replay.job_core import JobReplayCore


@pytest.mark.parametrize(
    "data_width, granules, paces",
    [(512, 3, DIAGONAL), *(later(*sizes, CROSSED) for sizes in [(128, 3), (512, 3), (512, 5)])],
    ids=["512-3", "128-3, all", "512-3, all", "512-5, all"],
)
def test_jobs(simulate, data_width, granules, paces):
    """An experience is some beats, part of a beat, and more than one."""
    config = dict(capacity=37, fanout=4, priority_width=16, priority_fraction=8)
    unit = JobReplayCore(kernel_config(data_width, **config))
    simulate(
        unit,
        "replay.jobs_bench",
        config=config,
        data_width=data_width,
        granules=granules,
        paces=paces,
    )
