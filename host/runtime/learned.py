"""The results of a launch of a learner's kernel."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Learned", "Sets", "Trained"]

#: Network -> for each layer, set of parameters -> (weights [outputs, inputs], biases [outputs]).
Sets: TypeAlias = dict[str, list[dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]]]]


class Learned(NamedTuple):
    """``reports``: REPORT records [iterations]; ``parameters``: as ``store`` gives, or None."""

    reports: NDArray[np.void]
    parameters: Sets | None


class Trained(NamedTuple):
    """As ``Learned``; ``td_errors``: float32 [iterations, batch_size]."""

    reports: NDArray[np.void]
    parameters: Sets | None
    td_errors: NDArray[np.float32]
