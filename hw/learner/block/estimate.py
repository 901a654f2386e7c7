"""What a unit of a layer's blocks takes."""

from dataclasses import dataclass

from hw.estimate import Estimate

__all__ = ["BlockEstimate"]


@dataclass(frozen=True, kw_only=True)
class BlockEstimate(Estimate):
    """Clocks and resources of a layer's pass. ``interval``: clocks from a sample to the next, at
    least. ``latency``: clocks from the taking of a sample's first word to the first word that
    leaves, if no word is late; None if none leaves.

    last_latency : clocks from the taking of a sample's first word to the last word that leaves.
    finished_latency : clocks from the taking of a sample's first word to ``finished`` of the
        backward pass; None of a forward pass.
    multipliers : multipliers of two numbers of the arithmetic. ``dsp`` counts the DSP blocks that
        they take, and those of activation functions.
    """

    multipliers: int
    last_latency: int | None = None
    finished_latency: int | None = None
