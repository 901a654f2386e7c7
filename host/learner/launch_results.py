"""The results of a launch of a learner's kernel."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Layer", "Learned", "Sets", "Trained"]

#: Weights [outputs, inputs] and biases [outputs].
Layer: TypeAlias = tuple[NDArray[np.float32], NDArray[np.float32]]
#: Network -> for each layer, set of parameters -> Layer.
Sets: TypeAlias = dict[str, list[dict[str, Layer]]]


class Learned(NamedTuple):
    """The results of ``LearningReplay.learn``.

    ``reports`` are REPORT records, [iterations]. ``parameters`` has the sets that ``store`` asked
    for, as they are after the last iteration; None if it asked for none.
    """

    reports: NDArray[np.void]
    parameters: Sets | None


class Trained(NamedTuple):
    """The results of ``LearningReplay.train``: as ``Learned``, and ``td_errors``, float32
    [iterations, batch_size], in the order of the experiences."""

    reports: NDArray[np.void]
    parameters: Sets | None
    td_errors: NDArray[np.float32]
