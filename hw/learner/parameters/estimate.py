"""What the parameters of a layer take."""

from dataclasses import dataclass

from hw.estimate import Estimate

__all__ = ["ParametersEstimate"]


@dataclass(frozen=True, kw_only=True)
class ParametersEstimate(Estimate):
    """``update``, ``load``, ``store``: clocks of ``busy``, without pauses of the streams."""

    update: int
    load: int
    store: int
