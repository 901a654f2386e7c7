"""The configs of ``dqn`` and ``ddpg`` among which a search chooses (CF'22 3.2.3, 4.2)."""

from hw.learner.chain.config import KINDS
from hw.learner.iteration_clocks import learn_clocks
from hw.replay.space import FANOUTS, draw_latency
from hw.space import Space

__all__ = ["SPACE"]

_LANES, _MULTIPLIERS = (1, 2, 4, 8, 16), range(1, 129)


def _fields(config):
    """Update units beyond the longest chain would wait; a chain has at most ``outputs`` PEs."""
    learner = config.learner
    longest = max(layer.outputs for layers in learner.networks.values() for layer in layers)
    units = [1 << k for k in range(longest.bit_length()) if 1 << k <= longest]
    return {
        "learner.arithmetic.kind": KINDS,
        "learner.lanes": _LANES,
        "learner.multipliers": _MULTIPLIERS,
        "learner.update_units": units,
        "replay.fanout": FANOUTS,
    }


def _shape(config):
    """The layers on their chains, and the PEs of each chain that are updated at the same time."""
    learner = config.learner
    layers = [layer for layers in learner.networks.values() for layer in layers]
    chains = tuple((layer, learner.layer_config.units(layer)) for layer in layers)
    return chains, learner.lanes, learner.arithmetic, config.replay


SPACE = Space(
    operation="iteration of LEARN with {batch} samples",
    batch=lambda config: config.learner.batch,
    fields=_fields,
    clocks=learn_clocks,
    prepare=lambda config, batch: {"learner.batch": batch},
    shape=_shape,
    numbers=("learner.arithmetic.kind",),
    latency=draw_latency,
    axis="learner.multipliers",
    curve="learner.lanes",
)
