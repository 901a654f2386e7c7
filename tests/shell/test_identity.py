"""hw_core 5: what lies in buffers is in a kernel's hash, though no layout has it.

Each change is one of the code that hardware, twin and host share, which the config does not show:
kernels from before and after it would misread each other's bytes.
"""

from contextlib import ExitStack
from unittest import mock

import numpy as np
import pytest

from hw.arith.fixed import UQ
from hw.designs import DESIGNS
from hw.fa3c.config import Fa3cConfig
from hw.fixar.config import FixarConfig, FixarKernelConfig, TileLayer
from hw.gae.config import GaeKernelConfig
from hw.learner.block.config import BlockShape
from hw.learner.block.fit import fit, interleave_of
from hw.learner.config import LearnerConfig, LearnerKernelConfig
from hw.learner.records import record_words
from hw.replay.config import ReplayKernelConfig

#: Made anew for every hash: configs keep what they have worked out.
CONFIGS = {
    "replay": ReplayKernelConfig,
    "gae": GaeKernelConfig,
    "dqn": lambda: LearnerKernelConfig(learner=LearnerConfig(hidden=(64, 64), multipliers=16)),
    "ddpg": lambda: LearnerKernelConfig(
        learner=LearnerConfig(algorithm="ddpg", hidden=(16, 8), multipliers=1)
    ),
    "td3": lambda: LearnerKernelConfig(
        learner=LearnerConfig(algorithm="td3", hidden=(16, 8), multipliers=1)
    ),
    "fixar": lambda: FixarKernelConfig(learner=FixarConfig(hidden=(16, 8), side=4)),
    "a3c": Fa3cConfig,
}


def hash_of(name, changes=()):
    """``changes``: pairs of a place in the code and what is there instead."""
    with ExitStack() as stack:
        for place, value in changes:
            stack.enter_context(mock.patch(place, value))
        return DESIGNS[name].describe(CONFIGS[name]()).config_hash


def exchanged(config):
    """An experience with its discount before its reward."""
    words = record_words(config)
    reward, discount = words["reward"][0], words["discount"][0]
    return words | {"reward": (discount, 1), "discount": (reward, 1)}


def reordered(config):
    words = record_words(config)
    return {name: words[name] for name in ("next_obs", "obs", "action", "reward", "discount")}


def halved(plans, *, multipliers, **options):
    """Multipliers of a layer, and so the sections of an image."""
    return fit(plans, multipliers=multipliers // 2, **options)


def interleaved(*arguments):
    """Another order of additions, and of the blocks of a section."""
    return max(2, interleave_of(*arguments) // 2)


def backwards(of):
    """Numbers of a section in another order."""
    pack = of.pack
    return lambda layer, weights, biases: pack(layer, np.flip(weights, axis=1), biases)


def biases_backwards(of):
    pack = of.pack
    return lambda layer, weights, biases: pack(layer, weights, biases[::-1])


def planes(config):
    """Results of 64 bytes more."""
    beats = _BEATS.fget(config)
    return beats | {"results": tuple(number + 1 for number in beats["results"])}


_BEATS = GaeKernelConfig.slot_beats
_CONFIG, _IMAGE = "hw.learner.config", "hw.learner.parameters.parameter_image"
CHANGES = {
    "words of a granule": ("replay", [("hw.replay.design.GRANULE_BYTES", 32)]),
    "format of beta": ("replay", [("hw.replay.design.SCALE_FORMAT", UQ(1, 14))]),
    "width of a stratum": ("replay", [("hw.replay.design.FRACTION_WIDTH", 47)]),
    "reward and discount": ("dqn", [("hw.learner.design.record_words", exchanged)]),
    "order of fields": ("ddpg", [(f"{_CONFIG}.record_words", reordered)]),
    "half of the multipliers": ("dqn", [("hw.learner.config.fit", halved)]),
    "interleave": ("ddpg", [("hw.learner.config.interleave_of", interleaved)]),
    "order of weights": (
        "dqn",
        [("hw.learner.block.config.BlockShape.pack", backwards(BlockShape))],
    ),
    "order of biases": (
        "dqn",
        [("hw.learner.block.config.BlockShape.pack", biases_backwards(BlockShape))],
    ),
    "order of sets": (
        "ddpg",
        [(f"{_IMAGE}.PARAMETER_SETS", ("target", "online", "first", "second"))],
    ),
    "order of the later sets": (
        "ddpg",
        [(f"{_IMAGE}.PARAMETER_SETS", ("online", "first", "target", "second"))],
    ),
    "order of words": ("fixar", [("hw.fixar.config.TileLayer.pack", backwards(TileLayer))]),
    "limits of shifts": ("fixar", [("hw.fixar.precision.CODE_WIDTH", 15)]),
    "limits of experiences": ("fixar", [("hw.fixar.config.FixarConfig.bounded", False)]),
    "planes of a slot": ("gae", [("hw.gae.config.GaeKernelConfig.slot_beats", property(planes))]),
    "a result's unit": ("gae", [("hw.gae.config._HEADROOM", 10)]),
    "coefficients": ("gae", [("hw.gae.config.GaeConfig.coefficient", UQ(1, 15))]),
    "rows of a group": (
        "a3c",
        [("hw.fa3c.layer.Layer.group_rows", property(lambda layer: layer.depth + 1))],
    ),
    "lines of observations": (
        "a3c",
        [("hw.fa3c.layer.Layer.line_rows", property(lambda layer: 9))],
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_order_is_another_hash(change):
    name, changes = CHANGES[change]
    assert hash_of(name, changes) != hash_of(name)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_hash_is_that_of_the_config_alone(name):
    assert hash_of(name) == hash_of(name)
    assert DESIGNS[name].identity(CONFIGS[name]())


def test_all_designs_are_here():
    assert set(CONFIGS) == set(DESIGNS)
