"""Losses of a temporal-difference error: value and derivative, importance-weighted."""

import numpy as np

__all__ = ["LOSSES", "weighted_loss"]


def _squared(td, delta):
    return 0.5 * td * td, td


def _huber(td, delta):
    # Clipped to [-delta, delta] the error is the derivative, and c (td - c / 2) is the loss of
    # both branches.
    clipped = np.minimum(np.maximum(td, -delta), delta)
    return clipped * (td - 0.5 * clipped), clipped


#: ``squared``: e^2 / 2;  ``huber``: e^2 / 2 where abs(e) <= delta, else delta (abs(e) - delta / 2)
LOSSES = {"squared": _squared, "huber": _huber}


def weighted_loss(name, td, weights, *, delta=1.0):
    """``L = mean(w f(td))`` and ``dL/dtd = w f'(td) / batch``.

    Parameters
    ----------
    name : str
        ``huber`` (torch's ``huber_loss``) or ``squared`` (half of ``mse_loss``).
    td, weights : array [batch]
        Errors, and importance weights (Schaul et al., Prioritized Experience Replay, 2016, 3.4).
    delta : float
        Where Huber's loss becomes linear.

    Returns
    -------
    float, array [batch]
    """
    value, derivative = LOSSES[name](td, delta)
    scale = weights / len(td)
    return float(np.dot(value, scale)), derivative * scale
