"""Kernels on memories that take the address of a write, its data, or neither before the other.

A slave may wait for WVALID before AWREADY, take data before its address, and take its time for
either: all is in the AXI specification, A3.3.1. # hw_core 4
"""

import pytest
from kernels.whole_programs import EACH, same

from sim.card.memory import WRITE_ORDERS, MemoryConfig

#: All but the one that all other tests have.
ORDERS = [(order, wait) for wait in (0, 200) for order in WRITE_ORDERS][1:]


@pytest.mark.parametrize("order, wait", ORDERS)
@pytest.mark.parametrize("design", EACH)
def test_the_program_ends(design, order, wait):
    same(design, MemoryConfig(write_order=order, write_wait=wait, max_idle=20_000))
