"""What a chain of PEs takes, forward or backward."""

from dataclasses import dataclass

from hw.estimate import Estimate

__all__ = ["ChainEstimate"]


@dataclass(frozen=True, kw_only=True)
class ChainEstimate(Estimate):
    """Clocks and resources of a chain. ``interval``: clocks from a sample to the next. ``latency``:
    clocks from the taking of a sample's first word to the first number or word that leaves; None if
    none leaves.

    last_latency : clocks from the taking of a sample's first word to the last that leaves.
    finished_latency : clocks from the taking of a sample's first word to ``finished`` of the
        backward chain; None for a forward chain.
    multipliers : multipliers of two numbers of the arithmetic. ``dsp`` counts the DSP blocks that
        they take, and those of activation functions.
    """

    multipliers: int
    last_latency: int | None = None
    finished_latency: int | None = None
