"""Random programs of ``gae`` on the cards ``sim`` (Verilated kernel) and ``model`` (its twin)."""

from collections import Counter
from itertools import cycle

import numpy as np
import pytest
from gae.bad_commands import BAD
from gae.gae_programs import (
    MIDDLE,
    NARROW,
    WIDE,
    GaeProgram,
    RandomRollouts,
    Rig,
    kernel_config,
    status_of,
)
from later import later
from replay.kernels import opened

from hw.gae.commands import Opcode
from hw.gae.estimate import cycles
from hw.gae.records import GAE_ERRORS, Error, Kind
from sim.card.memory import MemoryConfig

PROGRAMS = 80
#: name -> (config, chance that memory stalls)
KERNELS = {"narrow": (NARROW, 0.3), "middle": (MIDDLE, 0.1), "wide": (WIDE, 0.0)}
LONG = {
    f"{code}-{result}-{lookahead}": (
        kernel_config(
            256, rows=11, depth=33, code_width=code, result_width=result, lookahead=lookahead
        ),
        0.2,
    )
    for code, result, lookahead in [(8, 8, 1), (16, 32, 2), (16, 8, 3), (32, 32, 1)]
}


@pytest.mark.parametrize(
    "name",
    # Compiling takes long: other widths are the benches' of intake, stack and output too.
    ["narrow", *map(later, ("middle", "wide", *LONG))],
)
def test_sim_equals_model(name):
    """Every byte of results and status after every launch; every error on the way."""
    config, stall = (KERNELS | LONG)[name]
    memory = MemoryConfig(stall=stall, seed=1, max_idle=100_000)
    source = RandomRollouts(config, seed=len(name))
    errors, reached, commands, bads = set(), set(), Counter(), cycle(BAD)
    with opened("sim", config, memory=memory) as kernel, opened("model", config) as twin:
        rigs = [Rig(kernel), Rig(twin)]
        for number in range(PROGRAMS):
            bad = next(bads) if number % 4 else None
            launch = source.program(bad)
            got, expected = (rig.run(launch) for rig in rigs)
            shell, _ = status_of(expected["status"])
            for part, data in expected.items():
                different = np.flatnonzero(got[part] != data)
                assert not len(different), (
                    f"program {number} ({bad}, {shell}): {part} from byte {different[0]:#x} on"
                )
            errors.add(Error(shell["error"]))
            commands.update(launch.program[: shell["executed"]].view("<u4")[:, 0].tolist())
            if bad:
                assert shell["error_command"] == launch.command_count - 2, (bad, shell)
                assert shell["error"] == BAD[bad], bad.__name__
                reached.add(bad)
    assert reached == set(BAD)
    elsewhere = {Error.AXI, Error.BUFFER, Error.PROGRAM, Error.POINTER}
    assert errors == {Error(code) for code in GAE_ERRORS} - elsewhere
    assert set(commands) == {o.value for o in Opcode} - {Opcode.NONE.value}
    assert min(commands.values()) > 10, commands


def test_codes_of_fewer_bits_take_no_clock_more():
    config = NARROW
    with opened("sim", config) as kernel:
        rig, taken = Rig(kernel), set()
        for bits in (0, *range(3, config.gae.most_code_bits + 1)):
            program = GaeProgram(config)
            kinds = np.full((config.gae.depth, config.gae.rows), Kind.TERMINAL.value)
            numbers = np.ones(kinds.shape)
            scales = dict(reward_shift=1, value_shift=1, code_bits=bits)
            program.raw(Opcode.CLEAR)
            program.push(Opcode.PUSH, kinds, numbers, numbers, **scales)
            rig.run(program.launch())
            shell, status = status_of(rig.buffers["status"].view)  # not masked
            assert shell["error"] == Error.NONE
            taken.add(status["push_cycles"])
    assert len(taken) == 1


def test_clocks():
    """An ESTIMATE as estimated; PUSH and PULL a beat a clock but for their start and end."""
    config = NARROW
    with opened("sim", config) as kernel:
        rig = Rig(kernel)
        program = GaeProgram(config)
        slots, rows = config.gae.depth + 1, config.gae.rows
        kinds = np.full((slots, rows), Kind.STEP.value)
        kinds[-1] = Kind.BOOTSTRAP.value
        program.push(Opcode.PUSH_CODES, kinds, np.zeros(kinds.shape), np.zeros(kinds.shape))
        program.raw(Opcode.ESTIMATE, gamma=1)
        program.pull(slots)
        rig.run(program.launch())
        shell, status = status_of(rig.buffers["status"].view)  # not masked
    assert shell["error"] == Error.NONE
    assert status["estimate_cycles"] == cycles(config)
    assert status["busy"] == (slots - 1) * rows
    beats = slots * sum(config.slot_beats["codes"])
    assert beats <= status["push_cycles"] < beats + 200
    beats = slots * sum(config.slot_beats["results"])
    assert beats <= status["pull_cycles"] < beats + 200
