"""Units of results that are codes: by the largest so far, and coarser after one was clipped."""

import numpy as np
import pytest
from gae.gae_programs import kernel_config
from gae.reference import advantages, rollout
from replay.kernels import opened

from host.advantages.estimator import AdvantageEstimator

NARROW = {
    width: kernel_config(rows=8, depth=64, code_width=8, result_width=width) for width in (8, 16)
}


@pytest.mark.parametrize("width", NARROW)
def test_clipped_results_double_the_units(width):
    """A rollout a hundred times as large as the one before: each that is clipped gives the next
    units for three times its largest result, until none is."""
    rng = np.random.default_rng(4)
    small, large = (rollout(rng, 40, 8, scale=scale) for scale in (0.01, 1.0))
    wanted = advantages(*large, gamma=0.99, gae_lambda=0.95)
    with opened("model", NARROW[width]) as kernel:
        estimator = AdvantageEstimator(kernel)
        result = estimator.estimate(*small)
        assert result.statistics["saturated"] == 0
        seen = max(np.abs(result.advantages).max(), np.abs(result.returns).max())
        assert estimator.peak == pytest.approx(1.5 * seen, rel=1e-6)
        saturated = []
        while len(saturated) < 10:
            result = estimator.estimate(*large)
            saturated.append(result.statistics["saturated"])
            seen = max(np.abs(result.advantages).max(), np.abs(result.returns).max())
            if not saturated[-1]:
                break
            assert estimator.peak == pytest.approx(3 * seen, rel=1e-6)
        # Units are powers of two: a hundred is at most seven of them.
        assert 1 < len(saturated) <= 8
        assert estimator.peak == pytest.approx(1.5 * seen, rel=1e-6)
        assert seen == pytest.approx(np.abs(wanted).max(), rel=0.5)
