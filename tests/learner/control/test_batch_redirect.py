"""batch_redirect: what passes, what is drawn, what is given back and what is dropped."""

import pytest

from hw.learner.control.batch_redirect import BatchRedirect


@pytest.mark.parametrize("data_width, batch", [(128, 9), (512, 24)])
def test_capture(simulate, data_width, batch):
    """Beats of 2 items and of 8; a batch that ends inside a beat, and one that fills it."""
    simulate(
        BatchRedirect(data_width, batch),
        "learner.control.batch_redirect_bench",
        data_width=data_width,
        batch=batch,
    )
