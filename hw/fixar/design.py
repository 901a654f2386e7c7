"""The design ``fixar``: DDPG on array cores, with replay and no host in the loop."""

from functools import lru_cache

from hw.arith.noise import NOISE_FORMAT
from hw.estimate import fits
from hw.fixar.commands import ERRORS
from hw.fixar.config import FixarConfig, FixarKernelConfig
from hw.fixar.core import FixarCore
from hw.fixar.estimate import estimate, suggest
from hw.fixar.pass_clocks import clocks, iteration_cycles, schedule
from hw.fixar.precision import Precision, activation_slot, error_slot, shift_limits
from hw.learner.design import CONTINUOUS, RUN_FIELDS, identity, records, storage
from hw.replay.design import FANOUTS, default_config, draw_latency
from hw.shell.design import Design, Training
from hw.space import Space
from hw.summaries import SUMMARIES

__all__ = ["DESIGN"]


#: Largest first: what the paper built, one core of it, narrower networks; for a small board, a
#: Pendulum's.
_SMALL = dict(observation=3, action=1, hidden=(32, 32), cores=1, side=4)
_LEARNERS = (
    dict(cores=2),
    dict(cores=1),
    dict(cores=2, hidden=(64, 64)),
    dict(cores=1, hidden=(64, 64)),
    dict(cores=1, hidden=(64, 64), side=8),
    _SMALL,
    _SMALL | dict(optimizer="sgd"),
)


def _default(numbers):
    """The largest of ``_LEARNERS`` that fits the board; the smallest if none does."""
    replay = default_config(numbers)
    for sizes in _LEARNERS:
        config = FixarKernelConfig(
            replay=replay.replay, engine=replay.engine, learner=FixarConfig(**sizes)
        )
        if fits(estimate(config), numbers):
            break
    return config


def _identity(config):
    """What the config hash covers: all that a learner's covers, and which layers the shifts and
    ranges belong to."""
    learner = config.learner
    layers = [(n, k) for n, layers in learner.networks.items() for k in range(len(layers))]
    return {
        **identity(config),
        "slots": [
            [activation_slot(learner, *layer), error_slot(learner, *layer)] for layer in layers
        ],
        "shift limits": shift_limits(learner),
        "noise": str(NOISE_FORMAT),
    }


@lru_cache(maxsize=256)  # a learner is tried with several trees
def _iteration(learner, batch):
    """In full precision; half precision takes no longer."""
    return iteration_cycles(learner, batch, Precision())


#: The configs among which a search chooses: cores, their arrays, the sum tree.
_SPACE = Space(
    operation="iteration of LEARN with {batch} samples in full precision",
    batch=lambda config: config.learner.batch,
    fields=lambda config: {
        "learner.cores": range(1, 8),
        "learner.side": (4, 8, 16),
        "learner.port_words": (1, 2, 4),
        "replay.fanout": FANOUTS,
    },
    clocks=lambda config, batch: _iteration(config.learner, batch),
    prepare=lambda config, batch: {"learner.batch": batch},
    latency=draw_latency,
    axis="learner.cores",
    curve="learner.side",
)

DESIGN = Design(
    name="fixar",
    summary=SUMMARIES["fixar"],
    config_type=FixarKernelConfig,
    default=_default,
    core=FixarCore,
    errors=ERRORS,
    records=records,
    largest="storage",
    storage=storage,
    estimate=estimate,
    clocks=clocks,
    schedule=schedule,
    space=_SPACE,
    suggest=suggest,
    identity=_identity,
    training=Training(
        words="ddpg --design fixar",
        fields=RUN_FIELDS,
        task="observations of {} numbers and actions of {}",
        sizes=lambda config: (config.learner.observation, config.learner.action),
        environments=CONTINUOUS,
    ),
    packed=True,
)
