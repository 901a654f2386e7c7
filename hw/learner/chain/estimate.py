"""What a chain of PEs takes, forward or backward."""

from dataclasses import dataclass

from hw.estimate import Estimate

__all__ = ["ChainEstimate"]


@dataclass(frozen=True, kw_only=True)
class ChainEstimate(Estimate):
    """Of a sample: ``interval`` to the next, ``latency`` to the first number or word that leaves.

    last_latency, finished_latency : to the last one; to ``finished`` of the backward chain.
    multipliers : of the arithmetic's numbers; ``dsp`` are the blocks that they take, among others.
    """

    multipliers: int
    last_latency: int | None = None
    finished_latency: int | None = None
