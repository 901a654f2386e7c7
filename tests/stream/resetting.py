"""A unit whose clock and reset a test has in its hands, in Amaranth's own simulator."""

from amaranth import *
from amaranth.sim import Simulator

__all__ = ["driven"]


def driven(unit, bench):
    """Run ``bench(ctx, rst)`` to its end: an async function of the simulator's context and of the
    signal that resets ``unit``."""
    m = Module()
    m.domains.sync = domain = ClockDomain()
    m.submodules.unit = unit

    async def testbench(ctx):
        await bench(ctx, domain.rst)

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
