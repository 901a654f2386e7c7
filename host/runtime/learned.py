"""What a launch of a learner's kernel gives."""

from typing import NamedTuple

import numpy as np

__all__ = ["Learned", "Trained"]


class Learned(NamedTuple):
    """``reports``: REPORT records [iterations]; ``parameters``: as ``store`` gives, or None."""

    reports: np.ndarray
    parameters: dict | None


class Trained(NamedTuple):
    """As ``Learned``; ``td_errors``: float32 [iterations, batch_size]."""

    reports: np.ndarray
    parameters: dict | None
    td_errors: np.ndarray
