"""The learner's core, mostly around a stand-in: random programs on ``sim`` against ``model``."""

import numpy as np
import pytest
from later import later
from learner import core_bad
from learner.core_bad import BAD, errors_of
from learner.core_programs import LearnProgram, LearnPrograms, TrainingPrograms, run_both
from learner.learning import SMALL
from learner.learning import kernel_config as learning_config
from learner.stand_in_kernels import NARROW, WIDE, opened
from replay.kernels import opened as cards
from replay.programs import Rig, status_of

from host.cards import CardTimeout
from hw.learner.records import HYPERPARAMETERS, REPORT, LearnError
from hw.replay.records import Error
from sim.card.memory import CHANNELS, Fault, MemoryConfig

STORAGE_BYTES = 1 << 14


@pytest.mark.parametrize("stall", [0.0, 0.3])
@pytest.mark.parametrize("config", [WIDE, NARROW], ids=["wide", "narrow"])
def test_sim_equals_model(config, stall):
    """Every byte of results, storage and status after every launch; every error on the way."""
    memory = MemoryConfig(stall=stall, seed=2, max_idle=20_000)
    source = LearnPrograms(config, config.engine.data_width + round(10 * stall))
    errors, reached, expected = set(), set(), errors_of(config)
    with opened("sim", config, memory=memory) as kernel, opened("model", config) as twin:
        rigs = [Rig(kernel, STORAGE_BYTES), Rig(twin, STORAGE_BYTES)]
        for number in range(8 * len(BAD)):
            bad = list(BAD)[number // 2 % len(BAD)] if number % 2 else None
            if bad:
                launch, reports = source.program(source.rng.randint(0, 2), bad)
            elif number % 8 == 0 or source.fill < source.capacity - 2:
                launch, reports = source.first()
            else:
                launch, reports = source.program(source.rng.randint(1, 6))
            shell, replay, learner = run_both(*rigs, launch, reports, f"program {number} ({bad})")
            source.fill = int(replay["fill"])
            errors.add(int(shell["error"]))
            if bad and shell["error_command"] == launch.command_count - 2:
                assert shell["error"] == expected[bad], bad.__name__
                reached.add(bad)
    assert reached == set(BAD)
    assert errors >= {0, *expected.values()}
    assert learner["iterations"] > 50


def test_the_real_learner():
    """Batches that are refused among others; also those after them."""
    config = learning_config(algorithm="dqn", **SMALL)
    source, errors, storage = TrainingPrograms(config, 6), [], 1 << 15
    with cards("sim", config) as kernel, cards("model", config) as twin:
        rigs = [Rig(kernel, storage), Rig(twin, storage)]
        for number in range(30):
            bad = {2: core_bad.count, 4: core_bad.number, 5: core_bad.diverged}.get(number % 6)
            first = source.first() if number % 6 == 0 else None
            launch, reports = first or source.program(source.rng.randint(1, 3), bad)
            shell, replay, learner = run_both(*rigs, launch, reports, f"program {number} ({bad})")
            source.fill = int(replay["fill"])
            errors.append(int(shell["error"]))
    assert learner["iterations"] > 20
    assert set(errors) == {0, Error.COUNT, LearnError.NUMBER}


def learning(config, iterations, inserts, seed=7):
    """Two launches: memory and parameters filled; then a LEARN of whole batches alone."""
    source = LearnPrograms(config, seed)
    first, _ = source.first()
    program = LearnProgram(source.granules)
    program.learn(
        source.steps(iterations),
        source.records(iterations * inserts),
        **source.fields(config.learner.batch),
    )
    return first, program.launch(), program.reports


class OperandsLast(Rig):
    """Behind operands there is nothing that a launch may touch."""

    SIZES = {"program": 1 << 16, "results": 1 << 16, "status": 4096, "storage": 0, "operands": 4096}


@pytest.mark.parametrize("iterations", [1, 3])
def test_no_step_is_read_beyond_the_last(iterations):
    source = LearnPrograms(WIDE, 11)
    program = LearnProgram(source.granules)
    program.operands_bytes = OperandsLast.SIZES["operands"] - iterations * HYPERPARAMETERS.size
    program.learn(source.steps(iterations), source.records(0), **source.fields(1))
    with opened("sim", WIDE) as kernel:
        rig = OperandsLast(kernel, STORAGE_BYTES)
        first = LearnProgram()
        first.setup(source.capacity, source.granules, 1)
        first.insert(source.records(20))
        source.load(first, 15)
        rig.run(first.launch())
        shell, _ = status_of(rig.run(program.launch())["status"])
    assert (shell["executed"], shell["error"]) == (1, Error.NONE)


@pytest.mark.parametrize("latency", [8, 300])
def test_clocks_are_split(latency):
    """Draw, gather and step are parts of an iteration, and iterations of the launch."""
    iterations, memory = 6, MemoryConfig(read_latency=latency, write_latency=20)
    first, launch, reports = learning(WIDE, iterations, 1)
    with opened("sim", WIDE, memory=memory) as kernel:
        rig = Rig(kernel, STORAGE_BYTES)
        rig.run(first)
        results = rig.run(launch)["results"]
        shell, _ = status_of(rig.buffers["status"].view)  # not masked
    cycles = np.array(
        [results[at : at + REPORT.size].view(REPORT.dtype)["cycles"][0] for at in reports], int
    )
    draw, gather, step, whole = cycles.T
    assert (draw >= WIDE.learner.batch).all()
    assert (draw + gather >= WIDE.learner.batch + latency).all()
    assert (step >= WIDE.learner.batch).all()
    # The first record and batch are waited for; every other is fetched and drawn beside the end of
    # the step before, which here is shorter than new priorities, insertion and draw.
    rest, own = whole - step, (draw + gather)[0] + latency
    assert own < rest[0]
    assert (5 <= rest[1:]).all() and (rest[1:] < rest[0] - own + 45).all()
    assert latency < int(shell["cycles"]) - whole.sum() < latency + 60


@pytest.mark.parametrize(
    "master, channel", [(f"m_axi_{m}", c) for m in ("host", "storage") for c in "RB"]
)
@pytest.mark.parametrize("stride", [106, later(53)])
def test_error_answers_from_any_clock_on(master, channel, stride):
    """Wherever it strikes, the launch ends: without an error, or with AXI and the command."""
    source = LearnPrograms(WIDE, 3)
    program = LearnProgram()
    program.setup(source.capacity, source.granules, 1)
    source.insert(program, source.capacity)
    source.load(program, 15)
    fields = source.fields(16)
    program.learn(source.steps(2), source.records(2), **fields)
    source.store(program, 1)
    launch, commands, seen = program.launch(), len(program), set()
    for cycle in range(0, 2600, stride):
        fault = Fault(master=master, channel=channel, kind="error", cycle=cycle)
        with opened("sim", WIDE, memory=MemoryConfig(faults=(fault,), max_idle=3000)) as kernel:
            shell, _ = status_of(Rig(kernel, STORAGE_BYTES).run(launch)["status"])
        # A batch that was not read can hold anything, also what is no number: AXI wins.
        assert shell["error"] in (Error.NONE, Error.AXI)
        assert shell["executed"] == (shell["error_command"] if shell["error"] else commands)
        seen.add((int(shell["error"]), int(shell["error_command"])))
    insert, load, learn, store = range(1, 5)
    wanted = {
        ("m_axi_host", "R"): {0, insert, load, learn},
        ("m_axi_host", "B"): {learn, store},
        ("m_axi_storage", "R"): {learn},
        ("m_axi_storage", "B"): {insert, learn},
    }[master, channel]
    assert {command for error, command in seen if error} == wanted
    assert (0, 0) in seen


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("master", ["m_axi_host", "m_axi_storage"])
def test_stuck_channel_is_named(master, channel):
    """A launch whose memory stands still ends in a message with the channel's name."""
    first, launch, _ = learning(WIDE, 3, 2)
    with opened("sim", WIDE, memory=MemoryConfig(max_idle=3000)) as kernel:
        rig = Rig(kernel, STORAGE_BYTES)
        rig.run(first)
        begin = int(status_of(rig.buffers["status"].view)[0]["cycles"])
    # Cycles of a fault begin with the end of the reset; the control writes of a launch come before.
    for cycle in (begin + 150, begin + 700):
        fault = Fault(master=master, channel=channel, cycle=cycle)
        memory = MemoryConfig(faults=(fault,), max_idle=3000)
        with opened("sim", WIDE, memory=memory) as kernel:
            rig = Rig(kernel, STORAGE_BYTES)
            rig.run(first)
            with pytest.raises(CardTimeout, match=f"{master} {channel} stands still"):
                rig.run(launch)


def test_encode_knows_its_fields():
    with pytest.raises(ValueError, match="field must be one of Report's, not speed"):
        REPORT.encode(speed=1)
