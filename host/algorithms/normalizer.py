"""Scales observations of any size and unit to numbers of the order of 1, by the mean and variance
of all observations so far."""

import numpy as np

from host.algorithms.layers import Normalize
from hw.errors import UsageError

__all__ = ["Normalizer"]

_LIMIT = 10.0
_EPSILON = 1e-8


class Normalizer:
    """Normalizes observations: ``(obs - mean) / sqrt(variance + 1e-8)``, clipped to -10..10, each
    component with its own mean and variance. A component that never changes becomes 0.

    Two sets of n_a and n_b numbers, n together, whose means differ by ``delta = mean_b - mean_a``,
    have together ``mean = mean_a + delta n_b / n`` and
    ``variance = (n_a variance_a + n_b variance_b + delta**2 n_a n_b / n) / n`` (Chan, Golub and
    LeVeque, Updating Formulae and a Pairwise Algorithm for Computing Sample Variances, 1979).
    Limit and epsilon are those of stable-baselines3's VecNormalize.

    Parameters
    ----------
    size : int
        Numbers of an observation.

    Attributes
    ----------
    mean, variance : float64 arrays [size]
        Of all observations so far; 0 and 1 before the first.
    count : float64 array []
        Observations so far.
    """

    _KEPT = ("mean", "variance", "count")

    def __init__(self, size):
        self.mean, self.variance = np.zeros(size), np.ones(size)
        self.count = np.zeros(())

    def update(self, obs):
        """Adds observations [rows, size] to mean, variance and count. ValueError if a number is not
        finite; nothing is changed then."""
        obs = np.asarray(obs, np.float64)
        if not np.isfinite(obs).all():
            row, component = (int(where[0]) for where in np.nonzero(~np.isfinite(obs)))
            raise UsageError(
                f"observations must be finite to be normalized, not {obs[row, component]} "
                f"(component {component})"
            )
        self.join(obs.mean(axis=0), obs.var(axis=0), len(obs))

    def join(self, mean, variance, rows):
        """Adds ``rows`` observations, of which ``mean`` and ``variance`` [size] are known."""
        count = self.count + rows
        delta = mean - self.mean
        squares = self.count * self.variance + rows * variance
        self.variance = (squares + delta**2 * self.count * rows / count) / count
        self.mean = self.mean + delta * rows / count
        self.count = np.asarray(count)

    def __call__(self, obs):
        """Observations [rows, size] normalized, float32; they are not counted."""
        scaled = (obs - self.mean) / np.sqrt(self.variance + _EPSILON)
        return scaled.clip(-_LIMIT, _LIMIT).astype(np.float32)

    def described(self):
        """The layer of ``host.algorithms.layers``."""
        return Normalize(self.mean, np.sqrt(self.variance + _EPSILON), _LIMIT)

    @property
    def arrays(self):
        """name -> array of its state."""
        return {f"observation_{name}": getattr(self, name) for name in self._KEPT}

    def load_arrays(self, arrays):
        """Takes the state of another normalizer from a dict with its ``arrays``; other items of the
        dict are ignored."""
        for name in self._KEPT:
            setattr(self, name, np.array(arrays[f"observation_{name}"], np.float64))
