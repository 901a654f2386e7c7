"""The configs of ``dqn`` and ``ddpg`` among which a search chooses (CF'22 3.2.3, 4.2)."""

from hw.learner.block.fit import SIZES
from hw.learner.block.layer_config import KINDS
from hw.learner.iteration_clocks import learn_clocks
from hw.replay.space import FANOUTS, draw_latency
from hw.space import Space

__all__ = ["SPACE"]

_LANES = (1, 2, 4, 8, 16)
#: Of other numbers a layer would use fewer.
_MULTIPLIERS = sorted({taken * given for taken in SIZES for given in SIZES})


def _fields(config):
    """Update units beyond the numbers of the largest block would wait: by ``words``, if they are
    given, where multipliers do not count."""
    learner = config.learner
    multipliers, most = tuple(_MULTIPLIERS), max(_MULTIPLIERS)
    if learner.words is not None:
        multipliers = (learner.multipliers,)
        most = max(layer.multipliers for layers in learner.networks.values() for layer in layers)
    units = [1 << k for k in range(most.bit_length())]
    return {
        "learner.arithmetic.kind": KINDS,
        "learner.lanes": _LANES,
        "learner.multipliers": multipliers,
        "learner.update_units": units,
        "replay.fanout": FANOUTS,
    }


def _shape(config):
    """The layers in blocks, and in parts that are updated at the same time."""
    learner = config.learner
    layers = tuple(layer for layers in learner.networks.values() for layer in layers)
    return layers, learner.lanes, learner.arithmetic, config.replay


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
