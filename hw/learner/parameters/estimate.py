"""What the parameters of a layer take."""

from dataclasses import dataclass

from hw.estimate import Estimate

__all__ = ["ParametersEstimate"]


@dataclass(frozen=True, kw_only=True)
class ParametersEstimate(Estimate):
    """Resources of ``LayerParameters``, and clocks for which its ``busy`` is high.

    update : in an update.
    load, store : in a load or a store of one parameter set, if the stream of words never waits.
    """

    update: int
    load: int
    store: int
