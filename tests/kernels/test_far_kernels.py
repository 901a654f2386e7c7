"""Whole kernels with every number of their config at its smallest, and with as many at their
largest as a kernel can have that is compiled in minutes: card ``sim`` against the twin."""

import numpy as np
import pytest
from config_limits import far_config
from fa3c import kernel_programs as a3c
from fa3c.tasks import blank_task
from fixar.kernels import FixarPrograms
from gae import gae_programs as gae
from learner.core_programs import TrainingPrograms
from programs import Builder, Rig, status_of
from replay import programs as replay
from replay.kernels import opened
from replay.random_programs import MAX_RECORD, RandomPrograms

from hw.designs import DESIGNS
from hw.fa3c.records import A3C_STATUS, Error
from hw.learner.records import REPORT
from sim.card.memory import MemoryConfig

#: Lookup tables, by the estimate, of a kernel that is compiled in minutes; bytes of its storage.
LUT, BYTES = 75_000, 1 << 22
#: Experiences and slots that a course fills in a moment, and clocks of the longest operation; of
#: a3c, whose clocks are those of many rounds, bytes of an observation.
ITEMS, CLOCKS, SCREEN = 600, 60_000, 1024
#: Bytes of buffers that have the most: images, and the inputs of an inference.
SIZES = {"operands": 1 << 22, "results": 1 << 22}

# A course yields a launch and the places of its REPORTs, and is told the twin's outputs.


def _replay(config):
    source = RandomPrograms(config, 1)
    for _ in range(20):
        outputs = yield source.program(6), ()
        source.learn(replay.status_of(outputs["status"])[1])


def _gae(config):
    source = gae.RandomRollouts(config, 1)
    for _ in range(12):
        yield source.program(), ()


def _learner(config, programs=TrainingPrograms):
    source = programs(config, 1)
    yield source.first()
    for _ in range(6):
        outputs = yield source.program(4)
        source.fill = int(replay.status_of(outputs["status"])[1]["fill"])


def _fixar(config):
    return _learner(config, FixarPrograms)


def _a3c(config):
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


COURSES = {"replay": _replay, "gae": _gae, "fixar": _fixar, "a3c": _a3c}


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


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("end", ["smallest", "largest"])
@pytest.mark.parametrize("name", DESIGNS)
def test_sim_equals_model(name, end):
    config, design = config_at(name, end), DESIGNS[name]
    items, size = design.storage(config)
    pointers = {"storage": items * max(size, MAX_RECORD) + 4096} if name != "gae" else {}
    if name == "a3c":
        pointers = config.buffer_bytes
    memory = MemoryConfig(stall=0.1, seed=1, max_idle=100_000)
    status, clocks = design.status, {"gae": gae.CLOCKS, "a3c": a3c.CLOCKS}.get(name, replay.CLOCKS)
    course, executed = COURSES.get(name, _learner)(config), 0
    with opened("sim", config, memory=memory) as kernel, opened("model", config) as twin:
        rigs = [Rig(each, pointers, status, clocks, 600.0, SIZES) for each in (kernel, twin)]
        outputs = None
        while True:
            try:
                launch, reports = course.send(outputs)
            except StopIteration:
                break
            sizes = {f"{name}_bytes": size for name, size in pointers.items() if name != "storage"}
            got, outputs = (rig.run(launch, **sizes) for rig in rigs)
            for place in reports:
                for each in (got, outputs):
                    at = place + REPORT.offsets["cycles"]
                    each["results"][at : at + 16] = 0
            executed += int(status_of(outputs["status"], status)[0]["executed"])
            for part, data in outputs.items():
                different = np.flatnonzero(got[part] != data)
                assert not len(different), f"{config.to_json()}: {part} from {different[0]:#x} on"
    assert executed > 5
