"""Memory that answers with errors, or not at all: every launch ends, and says why."""

import numpy as np
import pytest
from replay.kernels import NARROW, opened
from replay.programs import Program, Rig, status_of

from host.cards import CardTimeout
from hw.replay.commands import COMMANDS, Opcode
from hw.replay.records import GRANULE_BYTES, Error
from hw.shell.status_block import MAGIC
from sim.card.memory import CHANNELS, Fault, MemoryConfig

GRANULES = 3
MASTERS = ("m_axi_host", "m_axi_storage")
#: Positions in the program of ``busy``.
SETUP, INSERT, SET, SAMPLE, GET = range(5)


def busy():
    """A program that moves data on every channel of both masters."""
    program = Program()
    program.setup(20, GRANULES, 7)
    program.insert(np.arange(18 * GRANULES * GRANULE_BYTES, dtype=np.uint8).reshape(18, -1))
    program.listed(Opcode.SET, [(i, 10 * i) for i in range(18)])
    program.sample(12)
    program.listed(Opcode.GET, range(18))
    return program.launch()


def run_with(fault, *, launches=1, max_idle=5000):
    """Status of each launch of ``busy`` with ``fault``; card ``sim``."""
    memory = MemoryConfig(faults=(fault,), max_idle=max_idle)
    with opened("sim", NARROW, memory=memory) as kernel:
        rig = Rig(kernel, 1 << 16)
        return [status_of(rig.run(busy())["status"]) for _ in range(launches)]


@pytest.mark.parametrize(
    "master, channel, command",
    [
        ("m_axi_host", "R", SETUP),  # the program itself
        ("m_axi_host", "B", SAMPLE),  # the batch; status is written all the same
        ("m_axi_storage", "B", INSERT),
        ("m_axi_storage", "R", SAMPLE),
    ],
)
def test_error_answer_ends_the_launch(master, channel, command):
    """The command that met it is named; the next launch meets it again, and ends too."""
    fault = Fault(master=master, channel=channel, kind="error")
    for shell, _ in run_with(fault, launches=2):
        assert shell["magic"] == MAGIC
        assert (shell["error"], shell["error_command"]) == (Error.AXI, command)
        assert shell["executed"] == command


@pytest.mark.parametrize("master", MASTERS)
@pytest.mark.parametrize("channel", ["R", "B"])
@pytest.mark.long
def test_error_answers_from_any_clock_on(master, channel):
    """Wherever it strikes, the launch ends: without an error, or with AXI where it was read. Quick
    tests have every answer from the first on, and single ones (``kernels.test_axi_errors``)."""
    seen = set()
    for cycle in range(0, 1500, 37):
        ((shell, _),) = run_with(Fault(master=master, channel=channel, kind="error", cycle=cycle))
        assert shell["error"] in (Error.NONE, Error.AXI), f"from clock {cycle} on"
        assert shell["executed"] == (shell["error_command"] if shell["error"] else GET + 1)
        seen.add((int(shell["error"]), int(shell["error_command"])))
    wanted = {
        ("m_axi_host", "R"): {SETUP, INSERT, SET, GET},
        ("m_axi_host", "B"): {SAMPLE, GET},
        ("m_axi_storage", "R"): {SAMPLE},
        ("m_axi_storage", "B"): {INSERT},
    }[master, channel]
    assert {command for error, command in seen if error} == wanted
    assert (0, 0) in seen


@pytest.mark.parametrize("cycle", [0, 200, 400])
@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("master", MASTERS)
def test_stuck_channel_is_named(master, channel, cycle):
    """The wait ends, and the message names the channel that stands still."""
    try:
        run_with(Fault(master=master, channel=channel, cycle=cycle), max_idle=3000)
    except CardTimeout as error:
        assert f"{master} {channel} stands still" in str(error)
    else:
        # The storage is idle once the batch is drawn.
        assert master == "m_axi_storage" and cycle > 0, "the launch must not end"


def test_commands_have_the_positions_above():
    opcodes = [Opcode(int(row[0])) for row in busy().program]
    assert opcodes == [Opcode.SETUP, Opcode.INSERT, Opcode.SET, Opcode.SAMPLE, Opcode.GET]
    assert set(opcodes) < set(COMMANDS)
