"""Kernels around ``StandInCore``: generated once a process, opened on the simulated cards."""

import functools
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest import mock

from learner.stand_in import StandInCore, StandInKernel
from replay.kernels import unkind

from host.cards import open_card
from hw.arith.arithmetic import Arithmetic
from hw.designs import DESIGNS
from hw.learner.config import LearnerConfig, LearnerKernelConfig
from hw.replay.config import ReplayConfig
from hw.shell.axi import EngineConfig
from hw.verilog import to_verilog
from sim.model.kernels import KERNELS

__all__ = ["NARROW", "STEPS", "WIDE", "opened"]

_NAME = "standin"


def _kernel_config(data_width, lanes, capacity=37, **learner):
    return LearnerKernelConfig(
        replay=ReplayConfig(capacity=capacity, fanout=4),
        engine=EngineConfig(data_width=data_width, depth=128, burst_beats=32),
        learner=LearnerConfig(hidden=(3,), batch=16, lanes=lanes, **learner),
    )


#: TD errors become priorities as they come.
WIDE = _kernel_config(512, 1, arithmetic=Arithmetic(kind="fixed"))
#: Two lanes, four beats a record, and actions that are numbers. So many places that a LEARN may ask
#: for more beats than a request has: ``test_limits``.
NARROW = _kernel_config(128, 2, capacity=90, algorithm="ddpg", observation=3, action=2)
#: Its record is STEP, and each number that has a rule is used.
STEPS = _kernel_config(
    512,
    1,
    algorithm="td3",
    observation=3,
    action=2,
    clip_norm=True,
    arithmetic=Arithmetic(kind="fixed"),
)


@functools.cache
def _generate(config):
    """Path of the description, its Verilog beside it."""
    directory = Path(tempfile.mkdtemp())
    design = replace(DESIGNS["dqn"], name=_NAME, core=StandInCore, check=lambda config: None)
    description = design.describe(config)
    text = to_verilog(design.kernel(config), name=_NAME)
    (directory / description.verilog).write_text(text)
    path = directory / "kernel.json"
    path.write_text(description.to_json())
    return path


@contextmanager
def opened(card, config, **options):
    """``with opened("sim", WIDE, memory=...) as kernel``: a loaded ``host.cards.Kernel``, on a card
    that is not kind."""
    options = unkind(options)
    with mock.patch.dict(KERNELS, {_NAME: StandInKernel}), open_card(card, **options) as device:
        yield device.load(_generate(config))
