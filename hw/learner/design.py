"""The designs of the learner's algorithms: replay and gradient steps with no host in the loop."""

from dataclasses import replace
from functools import partial

from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.errors import UsageError
from hw.estimate import fits
from hw.learner.algorithms.registry import ALGORITHMS
from hw.learner.block.fit import SIZES
from hw.learner.block.layer_config import KINDS
from hw.learner.config import LOSS_UNITS, LearnerConfig, LearnerKernelConfig
from hw.learner.core import LearnerCore
from hw.learner.estimate import estimate, suggest
from hw.learner.iteration_clocks import clocks, learn_clocks
from hw.learner.parameters.parameter_image import image_identity
from hw.learner.play import play_clocks
from hw.learner.play.core import PlayingCore
from hw.learner.play.episodes import EPISODE
from hw.learner.play.play_contract import PLAY_ERRORS, PLAY_SETTINGS, SAVED, segment_of
from hw.learner.records import (
    ERRORS,
    REPORT,
    STEP,
    STEP_ERRORS,
    action_granules,
    observation_granules,
    record_granules,
    record_words,
    word_rules,
)
from hw.learner.schedule import schedule
from hw.replay.design import FANOUTS, default_config, draw_latency
from hw.replay.design import identity as replay_identity
from hw.replay.records import GRANULE_BYTES, HEADER, ITEM
from hw.shell.command import round_up
from hw.shell.design import Design, RunField, Training
from hw.space import Space

__all__ = ["CONTINUOUS", "LEARNERS", "RUN_FIELDS", "design_of", "identity", "records", "storage"]

#: Fields of a run that every kernel with a learner has; an algorithm's ``options`` are more.
RUN_FIELDS = (
    RunField("capacity", "replay.capacity"),
    RunField("hidden", "learner.hidden"),
    RunField("activation", "learner.hidden_activation"),
    RunField("optimizer", "learner.optimizer"),
    RunField("batch_size", "learner.batch"),
)

#: The kernel has units for a norm if the agent has one. A kernel does not say which.
_CLIPS = RunField(
    "max_gradient_norm",
    "learner.clip_norm",
    to_kernel=lambda norm: norm is not None,
    to_run=lambda clips: 10.0 if clips else None,
)


def records(config):
    """Records in operands and results of a kernel that learns."""
    return {
        "Hyperparameters and reports": [config.learner.step_record, REPORT],
        "Lists and batches": [ITEM, HEADER],
    }


def _variant(config):
    """Fields of the Design of a kernel that plays, or whose record is STEP."""
    own = _playing(config)
    if config.learner.step_record is STEP:
        own["errors"] = {**own.get("errors", ERRORS), **STEP_ERRORS}
    return own


def _playing(config):
    """Fields of the Design of a kernel that plays."""
    if not config.play:
        return {}
    segment = segment_of(config.learner.step_record)
    own = {**records(config), "Playing": [PLAY_SETTINGS, segment, EPISODE, SAVED]}
    return {
        "core": PlayingCore,
        "errors": PLAY_ERRORS,
        "records": lambda _: own,
        "clocks": lambda config: clocks(config) | play_clocks.clocks(config),
        "space": _PLAYING_SPACE,
    }


#: Lanes, multipliers of the largest layer, and numbers that are updated in a clock, the fastest
#: first: CF'22's own for its DQN, then those that some board has room for.
_UNROLLS = (
    (2, 32, 8),
    (2, 24, 4),
    (1, 32, 8),
    (1, 16, 4),
    (1, 16, 2),
    (1, 8, 2),
    (1, 4, 1),
    (1, 2, 1),
    (1, 1, 1),
)
#: Of what a board has for a design, what a default's estimate may take: it may be a tenth too low.
_SHARE = 0.9

#: Numbers of an observation and actions -> an environment that has them.
_DISCRETE = {(4, 2): "CartPole-v1", (6, 3): "Acrobot-v1", (8, 4): "LunarLander-v3"}
#: The same where an action is several numbers.
CONTINUOUS = {
    (2, 1): "MountainCarContinuous-v0",
    (3, 1): "Pendulum-v1",
    (8, 2): "Swimmer-v5",
    (11, 3): "Hopper-v5",
    (17, 6): "HalfCheetah-v5",
}


#: The learner of a part without room for binary32: one multiplier a layer and data path, one
#: optimizer, a loss step by step, and weights whose products take one multiplier of an ECP5.
_SMALL = dict(
    hidden=(32, 32),
    hidden_activation="tanh",
    batch=32,
    multipliers=1,
    update_units=0,
    double=False,
    optimizer="rmsprop",
    arithmetic=Arithmetic(kind="fixed", weight=SQ(4, 14)),
)


def _small(algorithm, numbers, replay):
    """The smallest learner, with a tree of few comparisons, and as many experiences as fit the
    memory."""
    learner = LearnerConfig(algorithm=algorithm.name, **algorithm.sizes | _SMALL)
    if learner.has_loss_program:
        learner = replace(learner, loss_unit="program")
    config = LearnerKernelConfig(
        replay=replace(replay.replay, fanout=4), engine=replay.engine, learner=learner
    )
    capacity, size = storage(config)
    most = max(1, numbers["bank_bytes"] // size)
    capacity = min(capacity, 1 << most.bit_length() - 1)
    return replace(config, replay=replace(config.replay, capacity=max(capacity, learner.batch)))


def _default(algorithm, numbers):
    """The fastest unroll that leaves room on the board in binary32; if none does, the smallest
    learner, or if that does not fit either, the slowest unroll."""
    replay = default_config(numbers)
    limits = {
        name: _SHARE * numbers[name]
        for name in ("lut", "ff", "bram36", "dsp")
        if numbers.get(name) is not None
    }
    family = {"family": numbers.get("family", "xcup")}
    for lanes, multipliers, update_units in _UNROLLS:
        config = LearnerKernelConfig(
            replay=replay.replay,
            engine=replay.engine,
            learner=LearnerConfig(
                algorithm=algorithm.name,
                lanes=lanes,
                multipliers=multipliers,
                update_units=update_units,
                **algorithm.sizes,
            ),
        )
        if fits(estimate(config), limits | family):
            return config
    small = _small(algorithm, numbers, replay)
    return small if fits(estimate(small), limits | family) else config


def _check(algorithm, config):
    if config.learner.algorithm != algorithm.name:
        raise UsageError(
            f"algorithm must be {algorithm.name} (the design), not {config.learner.algorithm!r}"
        )


def storage(config):
    """``(largest capacity, bytes of an experience)`` of the buffer ``storage``. The bytes are
    rounded up to whole beats, as experiences lie there."""
    size = record_granules(config.learner) * GRANULE_BYTES
    return config.replay.capacity, round_up(size, config.engine.beat_bytes)


def identity(config):
    """What the config hash covers, as a dict of JSON values: all that the hash of the replay memory
    covers, and how the learner's experiences, observations, actions and parameter image lie."""
    learner = config.learner
    return {
        **replay_identity(config),
        "experience": [
            [name, *kind, *record_words(learner)[name]] for name, kind in config.fields.items()
        ],
        "experience granules": record_granules(learner),
        "observation granules": observation_granules(learner),
        "action granules": action_granules(learner),
        "rules": word_rules(learner),
        "image": image_identity(learner),
    }


def _collecting(config):
    """Fields of a run that collects on the kernel, if the kernel plays."""
    play = config.play
    return {"collect": "card", "env_count": play.environments} if play else {}


def _training(algorithm):
    discrete = algorithm.discrete
    return Training(
        words=f"{algorithm.name} --learner card",
        fields=(
            *RUN_FIELDS,
            *(RunField(each, f"learner.{each}") for each in algorithm.options),
            _CLIPS,
        ),
        settings=_collecting,
        task="observations of {} numbers and {} actions"
        if discrete
        else "observations of {} numbers and actions of {}",
        sizes=lambda config: (config.learner.observation, config.learner.action),
        environments=_DISCRETE if discrete else CONTINUOUS,
    )


#: Lanes and multipliers among which a search chooses (CF'22 3.2.3, 4.2). Of other numbers of
#: multipliers a layer would use fewer.
_LANES = (1, 2, 4, 8, 16)
_MULTIPLIERS = sorted({taken * given for taken in SIZES for given in SIZES})


def _searched(config):
    """The fields that a search changes. Update units beyond the numbers of the largest block would
    wait: by ``words``, if they are given, where multipliers do not count. What makes a learner
    smaller than one of each unit is tried where the search begins with it, as on a small part."""
    learner = config.learner
    multipliers, most = tuple(_MULTIPLIERS), max(_MULTIPLIERS)
    if learner.words is not None:
        multipliers = (learner.multipliers,)
        most = max(layer.multipliers for layers in learner.networks.values() for layer in layers)
    units = [1 << k for k in range(most.bit_length())]
    small = {}
    if learner.update_units == 0:
        units = [0, *units]
    if learner.loss_unit == "program":
        small["learner.loss_unit"] = LOSS_UNITS
    return {
        "learner.arithmetic.kind": KINDS,
        "learner.lanes": _LANES,
        "learner.multipliers": multipliers,
        "learner.update_units": units,
        **small,
        "replay.fanout": FANOUTS,
    }


def _shape(config):
    """The layers in blocks, and in parts that are updated at the same time; whether the layers
    share an optimizer; the unit of the loss."""
    learner = config.learner
    layers = tuple(layer for layers in learner.networks.values() for layer in layers)
    units = learner.update_units == 0, learner.loss_unit
    return layers, units, learner.lanes, learner.arithmetic, config.replay


_SPACE = Space(
    operation="iteration of LEARN with {batch} samples",
    batch=lambda config: config.learner.batch,
    fields=_searched,
    clocks=learn_clocks,
    prepare=lambda config, batch: {"learner.batch": batch},
    shape=_shape,
    numbers=("learner.arithmetic.kind",),
    latency=draw_latency,
    axis="learner.multipliers",
    curve="learner.lanes",
)

#: Of a kernel that plays: acting weighs as it does in a run.
_PLAYING_SPACE = replace(
    _SPACE,
    operation=f"period of PLAY, {play_clocks.PERIOD_STEPS} environment steps and an iteration with "
    "{batch} samples",
    clocks=play_clocks.period_clocks,
    parts=play_clocks.period_parts,
)


def design_of(algorithm):
    """The Design of an Algorithm."""
    return Design(
        name=algorithm.name,
        summary=algorithm.summary,
        config_type=LearnerKernelConfig,
        default=partial(_default, algorithm),
        core=LearnerCore,
        errors=ERRORS,
        records=records,
        largest="storage",
        storage=storage,
        estimate=estimate,
        clocks=clocks,
        schedule=lambda config: schedule(config.learner),
        space=_SPACE,
        suggest=suggest,
        identity=identity,
        check=partial(_check, algorithm),
        training=_training(algorithm),
        variant=_variant,
        packed=True,
    )


#: Algorithm's name -> its design.
LEARNERS = {name: design_of(algorithm) for name, algorithm in ALGORITHMS.items()}
