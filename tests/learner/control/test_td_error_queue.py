"""td_error_queue: all TD errors of a batch, kept, then taken or dropped."""

import pytest
from later import later

from hw.learner.control.td_error_queue import TdErrorQueue


@pytest.mark.parametrize("data_width, batch", [later(128, 9), (512, 32)])
def test_td_error_queue(simulate, data_width, batch):
    """Beats of 2 items and of 8; a batch that ends inside a beat, and one that fills four: the
    count of beats needs a bit more than any number below it."""
    simulate(
        TdErrorQueue(data_width, batch),
        "learner.control.td_error_queue_bench",
        data_width=data_width,
        batch=batch,
    )
