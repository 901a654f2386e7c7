"""Random programs on the cards ``sim`` (Verilated kernel) and ``model`` (its twin)."""

import random
from collections import Counter
from itertools import cycle

import numpy as np
import pytest
from later import crossed
from programs import assert_left
from replay.bad_commands import BAD
from replay.kernels import NARROW, WIDE, opened
from replay.programs import Program, Rig, status_of
from replay.random_programs import MAX_RECORD, RandomPrograms

from hw.replay.commands import Opcode
from hw.replay.records import GRANULE_BYTES, REPLAY_ERRORS, Error
from sim.card.memory import MemoryConfig

PROGRAMS = 200
#: A pause is longer than the engines' queues last.
STALLS = [{}, dict(stall=0.3), dict(pause=200, period=500)]


@pytest.mark.parametrize(
    "config, stalls",
    crossed(
        {"wide": WIDE, "narrow": NARROW},
        dict(zip(("none", "random", "solid"), STALLS, strict=True)),
    ),
)
def test_sim_equals_model(config, stalls):
    """Every byte of results, storage and status after every launch; every error on the way."""
    memory = MemoryConfig(**stalls, seed=1, max_idle=100_000)
    storage_bytes = config.replay.capacity * MAX_RECORD
    seed = config.engine.data_width + 3 * STALLS.index(stalls)  # other programs in each case
    source, rng = RandomPrograms(config, seed), random.Random(seed)
    errors, reached, commands, bads = set(), set(), Counter(), cycle(BAD)
    with opened("sim", config, memory=memory) as kernel, opened("model", config) as twin:
        rigs = [Rig(kernel, storage_bytes), Rig(twin, storage_bytes)]
        for number in range(PROGRAMS):
            # Three quarters end in a bad command; one program is empty, two are of several fetches.
            bad = next(bads) if number % 4 else None
            length = {0: 0, 1: 40, 2: 17}.get(number, rng.randint(1, 6))
            launch = source.program(length, bad)
            got, expected = (rig.run(launch) for rig in rigs)
            shell, replay = status_of(expected["status"])
            assert_left(got, expected, f"program {number} ({bad}, {shell})")
            source.learn(replay)
            errors.add(Error(shell["error"]))
            commands.update(launch.program[: shell["executed"]].view("<u4")[:, 0].tolist())
            if bad and shell["error_command"] == launch.command_count - 2:
                assert shell["error"] == BAD[bad], bad.__name__
                reached.add(bad)
    assert reached == set(BAD)
    elsewhere = {Error.AXI, Error.PROGRAM, Error.POINTER}
    assert errors == {Error(code) for code in REPLAY_ERRORS} - elsewhere
    assert set(commands) == {o.value for o in Opcode} - {Opcode.NONE.value}
    assert min(commands.values()) > 10, commands


@pytest.mark.parametrize("granules", [0, 4, 12])
@pytest.mark.parametrize("latency", [64, 300])
def test_clocks_of_a_batch_are_split(granules, latency):
    """Drawing, gathering, writing: each at its memory's pace, and together what the launch takes
    besides its program and its own bookkeeping."""
    count, memory = 100, MemoryConfig(read_latency=latency, write_latency=30)
    with opened("sim", WIDE, memory=memory) as kernel:
        rig = Rig(kernel, 1 << 16)
        program = Program()
        program.setup(200, granules, 7)
        program.insert(np.zeros((count, granules * GRANULE_BYTES), np.uint8))
        rig.run(program.launch())
        program = Program(granules)
        program.sample(count)
        rig.run(program.launch())
        shell, replay = status_of(rig.buffers["status"].view)  # not masked
    draw, gather, write = (int(replay[f"{name}_cycles"]) for name in ("draw", "gather", "write"))
    beats = -(-granules // 4)
    # One draw a clock, until more beats are on their way than the read engine has room for.
    assert draw >= count
    if beats * count <= WIDE.engine.depth:
        assert draw <= count + WIDE.replay.latency + 8
    if granules:
        assert draw + gather >= latency + beats * count
    assert 30 < write < 30 + 40 + (1 + granules) * 32  # the last burst
    rest = int(shell["cycles"]) - draw - gather - write
    assert latency < rest < latency + 24
