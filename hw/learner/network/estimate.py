"""What the loss unit takes."""

from dataclasses import dataclass

from hw.estimate import Estimate

__all__ = ["LossEstimate"]


@dataclass(frozen=True, kw_only=True)
class LossEstimate(Estimate):
    """Of a super-sample: ``interval`` to the next, ``latency`` to its first word of ``delta``.

    td_latency : to the TD error of its first lane.
    ahead : super-samples between the unit and whoever takes them, so that its pipeline never waits.
    """

    td_latency: int
    ahead: int
