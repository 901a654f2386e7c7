"""host.explore.verification: the clocks of the Verilog are those that the formulas of each space
give."""

from functools import partial

import numpy as np
import pytest
from fa3c.test_kernel import NARROW as NARROW_A3C
from fa3c.test_kernel import WIDE as WIDE_A3C
from kernels.whole_programs import EACH, PROGRAMS
from replay.kernels import NARROW, opened

import host.explore.verification
from host.cards import CardTimeout, open_card
from host.explore.launch_clocks import memory_for
from host.explore.learner_clocks import report_clocks
from host.explore.verification import measure, measured_clocks
from hw.designs import DESIGNS
from hw.errors import UsageError
from hw.learner.records import REPORT
from hw.shell.axi import EngineConfig
from sim.card.memory import Fault, MemoryConfig
from system.tools import BUILD_DIRECTORY

#: Of the small kernels that other tests compile too. The trajectories are those of two whole arrays
#: and of a part of one.
BATCHES = {"replay": 20, "dqn": 16, "ddpg": 16, "td3": 16, "gae": 12, "fixar": 16, "a3c": 3}
#: A round of a3c is worked out task by task, not clock by clock.
A3C = 0.005


def check(name, config, batch, tolerance=0.0):
    expected = DESIGNS[name].space.clocks(config, batch)
    with opened("sim", config, memory=memory_for(config.engine, expected)) as kernel:
        found = measured_clocks(kernel, config, batch)
    assert found == pytest.approx(expected, rel=tolerance, abs=0)


@pytest.mark.parametrize("name", EACH)
def test_small_kernels(name):
    check(name, PROGRAMS[name].config, BATCHES[name], A3C if name == "a3c" else 0.0)


@pytest.mark.long
@pytest.mark.parametrize("config, agents", [(WIDE_A3C, WIDE_A3C.agents), (NARROW_A3C, 3)])
def test_periods_of_other_kernels(config, agents):
    """A row is a beat, or four; more units than local masters, and one."""
    check("a3c", config, agents, A3C)


def test_a_kernel_is_made_as_the_config_says(monkeypatch):
    """Of which no field is the board's default; with its Verilog, for a memory that waits as long
    as the operation takes."""
    asked = []
    monkeypatch.setattr(
        host.explore.verification,
        "open_card",
        lambda *words, **more: asked.append((words, more)) or model(),
    )
    monkeypatch.setattr(host.explore.verification, "measured_clocks", lambda *words: words)
    model, out = partial(open_card, "model"), BUILD_DIRECTORY / "tests" / "measure"
    kernel, *rest = measure("replay", "u200", out, NARROW, 20)
    assert kernel.description.config == NARROW.to_dict() and rest == [NARROW, 20]
    memory = memory_for(NARROW.engine, DESIGNS["replay"].space.clocks(NARROW, 20))
    assert asked == [(("sim",), dict(memory=memory))]
    (folder,) = out.glob("u200/replay*")
    assert any(each.stat().st_size > 100_000 for each in folder.rglob("replay.v"))


@pytest.mark.long
def test_a_kernel_of_a_board_is_measured():
    found = measure("replay", "u200", BUILD_DIRECTORY / "tests" / "measure", NARROW, 20)
    assert found == DESIGNS["replay"].space.clocks(NARROW, 20)


def test_a_kernel_that_stands_still():
    stuck = MemoryConfig(max_idle=5000, faults=(Fault(master="m_axi_host", channel="R"),))
    with opened("sim", NARROW, memory=stuck) as kernel, pytest.raises(CardTimeout):
        measured_clocks(kernel, NARROW, 20)


def test_who_computes_for_long_does_not_stand_still():
    default, engine = MemoryConfig(), EngineConfig()
    assert memory_for(engine, default.max_idle / 2) == default
    assert memory_for(engine, 3e6) == MemoryConfig(max_idle=6_000_000)
    assert memory_for(engine, 1e10) == MemoryConfig(max_idle=1 << 31)


def test_memory_answers_within_short_queues():
    """As the formulas assume it: 16 beats less a burst of 8 and those under way."""
    short = EngineConfig(depth=16, burst_beats=8, bursts=4)
    assert memory_for(short, 1) == MemoryConfig(read_latency=4, write_latency=4)


def test_only_the_steady_state_counts():
    reports = np.zeros(6, REPORT.dtype)
    reports["cycles"][:, 3] = 1, 2, 30, 50, 40, 9
    reports["cycles"][:, 2] = 1, 2, 3, 3, 5, 9
    assert report_clocks(reports, 2, 3) == [3, 40]


def test_an_operation_that_nobody_measures(monkeypatch):
    monkeypatch.setattr(host.explore.verification, "_OPERATIONS", {})
    with pytest.raises(UsageError, match="^design must be one whose operation can be measured, "
                       "not 'replay'$"):  # fmt: skip
        measure("replay", "u200", BUILD_DIRECTORY, NARROW, 20)
