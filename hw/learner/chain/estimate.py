"""What a chain of PEs takes, forward or backward."""

from dataclasses import dataclass
from functools import lru_cache

from amaranth import *

from hw.estimate import Estimate, times, together
from hw.learner.chain.backward_pe import BACKWARD_TOKEN, BackwardPE
from hw.learner.chain.backward_tail import BackwardTail
from hw.learner.chain.delta_banks import DeltaBanks
from hw.learner.memory_ports import READ_LATENCY

__all__ = ["ChainEstimate", "backward_resources"]


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


@lru_cache(maxsize=4096)
def backward_resources(config, layer, groups, trained, input_gradient, input_activation):
    """``Estimate`` of the resources of a ``Backward`` with these parameters."""
    word = Shape.cast(config.arithmetic.shape("activation")).width
    latency = BackwardPE.write_latency(config, trained)
    pes = [
        BackwardPE.estimate(config, layer, groups, trained, input_gradient, before)
        for before in range(min(layer.length, 3))
    ]
    parts = [*pes[:2], *(times(layer.length - 2, pe) for pe in pes[2:])]
    if input_gradient:
        parts.append(BackwardTail.estimate(config, layer, groups, input_activation))
        latency = max(latency, BackwardTail.latency_of(config, layer, input_activation))
    places = (layer.rows - 1).bit_length() + (layer.words - 1).bit_length() + 1
    # A word waits two clocks, and a macro-cycle in the first PE.
    waits = (READ_LATENCY + 1) * groups * config.lanes * layer.vector * word
    control = Estimate(
        lut=2 * places + 8, ff=waits + places + BACKWARD_TOKEN.size + READ_LATENCY + latency + 4
    )
    return together([*parts, DeltaBanks.estimate(config, layer, groups, trained), control])
