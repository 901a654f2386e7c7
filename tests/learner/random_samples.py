"""Runs inside the simulator: samples that begin where there is room for them."""

import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

__all__ = ["Begins"]


class Begins:
    """Pulses ``begun`` for each of ``count`` samples in a clock with ``room``, from now on.

    ``gap`` is the probability that it does not, though it could. ``begun`` counts them.
    """

    def __init__(self, dut, count, *, gap=0.0, seed=0, begun="begun", room="room"):
        self.dut, self.count, self.gap = dut, count, gap
        self.rng, self.begun = random.Random(seed), 0
        self._pulse, self._room = getattr(dut, begun), getattr(dut, room)
        cocotb.start_soon(self._run())

    async def _run(self):
        while self.begun < self.count:
            # Room is settled; the pulse is there before the clock ends.
            await FallingEdge(self.dut.clk)
            go = int(self._room.value) and self.rng.random() >= self.gap
            self._pulse.value = int(go)
            self.begun += int(go)
        await FallingEdge(self.dut.clk)
        self._pulse.value = 0

    async def has(self, number):
        """Until sample ``number`` has begun."""
        while self.begun <= number:
            await RisingEdge(self.dut.clk)
