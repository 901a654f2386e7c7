"""Clocks of launches that estimate full stacks."""

import numpy as np

from host.measure.launches import LIMIT_S, launch_clocks
from host.runtime.gae import AdvantageEstimator

__all__ = ["estimate_clocks"]


def estimate_clocks(kernel, config, batch):
    """Clocks of the launches, with their transfers, for ``batch`` random trajectories that fill the
    stack and are not finished, as many at a time as the kernel has rows."""
    estimator = AdvantageEstimator(kernel, timeout_s=LIMIT_S)
    rng, rows = np.random.default_rng(0), config.gae.rows

    def launch():
        for begin in range(0, batch, rows):
            shape = config.gae.depth, min(rows, batch - begin)
            rewards, values, bootstraps = rng.normal(size=(3, *shape))
            going_on = np.zeros(shape, bool)
            estimator.estimate(rewards, values, going_on, going_on, bootstraps)

    return launch_clocks(estimator, launch)
