"""What the loss unit takes."""

from dataclasses import dataclass

from hw.estimate import Estimate

__all__ = ["LossEstimate"]


@dataclass(frozen=True, kw_only=True)
class LossEstimate(Estimate):
    """Clocks and resources of ``Loss``. ``interval``: clocks from a super-sample to the next.
    ``latency``: clocks from a super-sample's last output to its first word of ``delta``.

    td_latency : clocks from a super-sample's last output to the TD error of its first lane.
    ahead : super-samples for whose results there is room behind the pipeline: so many that the
        pipeline need not wait if its results are taken at once.
    """

    td_latency: int
    ahead: int
