"""Whole kernels with every number of their config at its smallest, and with as many at their
largest as a kernel can have that is compiled in minutes: card ``sim`` against the twin."""

import contextlib
from functools import partial

import numpy as np
import pytest
from config_limits import far_config
from fa3c import kernel_programs as a3c
from fa3c.tasks import blank_task
from fixar.kernels import FixarPrograms
from gae import gae_programs as gae
from learner.core_programs import TrainingPrograms, without_clocks
from programs import Builder, Rig, assert_left, status_of
from replay import programs as replay
from replay.kernels import opened
from replay.random_programs import MAX_RECORD, RandomPrograms

from hw.designs import DESIGNS
from hw.fa3c.records import A3C_STATUS, Error
from sim.card.memory import MemoryConfig

#: Lookup tables, by the estimate, of a kernel that is compiled in minutes; bytes of its storage.
LUT, BYTES = 75_000, 1 << 22
#: Experiences and slots that a course fills in a moment, and clocks of the longest operation; of
#: a3c, whose clocks are those of many rounds, bytes of an observation.
ITEMS, CLOCKS, SCREEN = 600, 60_000, 1024
#: Bytes of buffers that have the most: images, and the inputs of an inference.
SIZES = {"operands": 1 << 22, "results": 1 << 22}


def far(test):
    """Both ends, in a long test."""
    ends = pytest.mark.parametrize("end", ["smallest", "largest"])
    return pytest.mark.long(pytest.mark.timeout(3600)(ends(test)))


def config_at(name, end):
    """Of as many numbers at that end as ``LUT``, ``BYTES`` and ``ITEMS`` allow."""
    design = DESIGNS[name]

    def fits(config):
        if end == "smallest":
            return name in ("replay", "gae", "a3c") or config.replay.capacity >= 5
        items, size = design.storage(config)
        return (
            design.estimate(config).resources["lut"] <= LUT
            and items * size <= BYTES
            and (
                config.screen_bytes <= SCREEN
                if name == "a3c"
                else items <= ITEMS and max(design.clocks(config).values()) <= CLOCKS
            )
        )

    return far_config(name, end == "largest", fits)


def same(name, end, course, clocks):
    """Card and twin leave the same bytes after every launch of ``course(config)``, a generator: it
    yields a launch and the places of its REPORTs, and is sent the twin's outputs."""
    config, status, executed = config_at(name, end), DESIGNS[name].status, 0
    memory, launches = MemoryConfig(stall=0.1, seed=1, max_idle=1_000_000), course(config)
    items, size = DESIGNS[name].storage(config)
    buffers = {"gae": {}, "a3c": getattr(config, "buffer_bytes", {})}.get(
        name, {"storage": items * max(size, MAX_RECORD)}
    )
    arguments = {f"{name}_bytes": size for name, size in buffers.items() if name != "storage"}
    with opened("sim", config, memory=memory) as kernel, opened("model", config) as twin:
        rigs = [Rig(each, buffers, status, clocks, 600.0, SIZES) for each in (kernel, twin)]
        outputs = None
        with contextlib.suppress(StopIteration):
            while True:
                launch, reports = launches.send(outputs)
                got, outputs = (
                    without_clocks(rig.run(launch, **arguments), reports) for rig in rigs
                )
                executed += int(status_of(outputs["status"], status)[0]["executed"])
                assert_left(got, outputs, config.to_json())
    assert executed > 5


@far
def test_replay(end):
    def course(config):
        source = RandomPrograms(config, 1)
        for _ in range(20):
            outputs = yield source.program(6), ()
            source.learn(replay.status_of(outputs["status"])[1])

    same("replay", end, course, replay.CLOCKS)


@far
def test_gae(end):
    def course(config):
        source = gae.RandomRollouts(config, 1)
        for _ in range(12):
            yield source.program(), ()

    same("gae", end, course, gae.CLOCKS)


def learning(programs, config):
    source = programs(config, 1)
    outputs = yield source.first()
    assert int(replay.status_of(outputs["status"])[0]["error"]) == Error.NONE
    for _ in range(6):
        outputs = yield source.program(4)
        source.fill = int(replay.status_of(outputs["status"])[1]["fill"])


@far
def test_dqn(end):
    same("dqn", end, partial(learning, TrainingPrograms), replay.CLOCKS)


@far
def test_ddpg(end):
    same("ddpg", end, partial(learning, TrainingPrograms), replay.CLOCKS)


@far
def test_fixar(end):
    """A kernel whose cores have one sample each stood still in its first gradient step."""
    same("fixar", end, partial(learning, FixarPrograms), replay.CLOCKS)


def rounds(config):
    """A rollout of every step, of as many agents as an inference takes; a TRAIN of all its steps
    whose operands are a beat short, which is refused, and one that fits."""
    source = a3c.RandomRounds(config, 1)
    batch, steps, last = config.batch, config.steps, config.snapshots - 1
    agents = list(range(config.agents - batch, config.agents)) + [0] * (8 - batch)
    screens, rows = batch * config.screen_bytes, steps * config.output_bytes
    numbers = source.numbers.standard_normal(max(screens, rows) // 4).astype("<f4")
    infer = blank_task(
        0, unit=config.units_for("infer")[-1], snapshot=last, count=batch, agents=agents
    )
    train = blank_task(
        1,
        unit=config.units_for("train")[-1],
        snapshot=last,
        count=steps,
        agents=[config.agents - 1, *[0] * 7],
        **source.constants(),
    )

    def round_(task, size, short=0):
        """The list, then ``size`` bytes of operands, of which the buffer has ``short`` too few."""
        builder = Builder(a3c.COMMANDS)
        listed = builder.operand(a3c.records([task | dict(operands=64)]))
        assert builder.operand(numbers.view(np.uint8)[:size]) == 64
        builder.result(batch * config.output_bytes)
        builder.raw(a3c.Opcode.ROUND, count=1, source=listed)
        launch = builder.launch()
        launch.operands_bytes = 64 + size - short
        return launch, ()

    yield source.images([blank_task(2, snapshot=last)]), ()
    for step in range(steps):
        outputs = yield round_(infer | dict(step=step), screens)
        assert error_of(outputs) == Error.NONE
    outputs = yield round_(train, rows, short=config.engine.beat_bytes)
    assert error_of(outputs) == Error.OPERANDS
    outputs = yield round_(train, rows)
    assert error_of(outputs) == Error.NONE
    store = Builder(a3c.COMMANDS)
    source.store(store)
    yield store.launch(), ()


def error_of(outputs):
    return int(status_of(outputs["status"], A3C_STATUS)[0]["error"])


@far
def test_a3c(end):
    """A TRAIN of 32 steps whose operands lay beyond the buffer was not refused."""
    same("a3c", end, rounds, a3c.CLOCKS)
