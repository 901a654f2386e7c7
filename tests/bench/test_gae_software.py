"""bench.gae.software: what is measured beside ours computes the same advantages."""

import numpy as np
import pytest

from bench.gae import software


def assert_alike(found):
    """Advantages and rewards-to-go of the same rollout."""
    wanted = software.numpy_loop(*software._rollout(40, 8))()
    for name, function in found.items():
        for one, other in zip(function(), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4, err_msg=name)


def test_loops():
    found = software.implementations(40, 8)
    assert len(found) >= 3
    assert_alike(found)
    assert np.float32(2**-140) * np.float32(0.5) > 0, "the C loop's flags are its own"


@pytest.mark.long
def test_the_librarys():
    """stable-baselines3 marks the first step of an episode, the others the last."""
    pytest.importorskip("stable_baselines3", reason="pip install -e .[peers]")
    assert_alike({"stable-baselines3": software.library_loop(*software._rollout(40, 8))})
