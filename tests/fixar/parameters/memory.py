"""Runs inside the simulator: memories of a port that reads and one that writes, as lists."""

import random

from cocotb.triggers import ReadOnly, RisingEdge

__all__ = ["Memory"]


class Memory:
    """``words[name]``: texts, then integers. A word that does not exist is noise. Ports show
    ``side_by_side`` words at once."""

    def __init__(self, words, digits, side_by_side=1):
        self.words = {name: [int(text, 16) for text in texts] for name, texts in words.items()}
        self.digits, self.rng, self.side_by_side = digits, random.Random(3), side_by_side

    def word(self, name, address):
        words, bits, shown = self.words[name], 4 * self.digits, 0
        for k in range(self.side_by_side):
            at = address - address % self.side_by_side + k
            shown |= (words[at] if at < len(words) else self.rng.getrandbits(bits)) << k * bits
        return shown

    async def serve(self, dut, enable, address, names):
        """Ports ``names`` show a word two clocks with ``enable`` (None: every clock) after its
        address."""
        before = None
        while True:
            await ReadOnly()
            moves = enable is None or int(getattr(dut, enable).value)
            place = getattr(dut, address).value
            await RisingEdge(dut.clk)
            if moves:
                if before is not None:
                    for name in names:
                        getattr(dut, name).value = self.word(name, before)
                before = int(place) if place.is_resolvable else None

    async def keep(self, dut, address, names, data=None):
        """``names``: of bits of ``write``; what ``data`` (None: ``write_<name>``) then shows is
        written."""
        while True:
            await ReadOnly()
            for place, name in names.items():
                if int(dut.write.value) >> place & 1:
                    where = int(getattr(dut, address).value)
                    self.words[name][where] = int(getattr(dut, data or f"write_{name}").value)
            await RisingEdge(dut.clk)
