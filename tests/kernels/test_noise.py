"""Kernels on a card that is not kind: memory, registers and RAM begin as noise, and a read of a RAM
that meets a write of its word brings noise."""

import pytest
from kernels.whole_programs import PROGRAMS, same
from marks import long_but

from hw.designs import DESIGNS
from sim.card.memory import MemoryConfig


def test_every_design_has_a_program():
    assert set(PROGRAMS) == set(DESIGNS)


@pytest.mark.parametrize("design", long_but(["replay", "gae", "dqn"], PROGRAMS))
def test_noise_changes_nothing(design):
    # hw_core 6, hw_core 7
    same(design, MemoryConfig(noise=True, seed=5))
