"""Runs inside the simulator: pulses of biases between rows of tiles."""

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from streams import ports

__all__ = ["Biases"]


class Biases:
    """``found``: of each pulse the rows before it, the word, the clock; ``moved``: of each row."""

    def __init__(self, dut):
        self.dut, self.found, self.moved = dut, [], []
        cocotb.start_soon(self._run())

    async def _run(self):
        clock, (_, valid, ready) = 0, ports(self.dut, "rows")
        while True:
            await ReadOnly()
            bias = str(self.dut.bias.value)
            if bias[-1] == "1":
                assert int(ready.value) and not int(valid.value), "a bias beside a row"
                self.found.append((len(self.moved), int(bias[:-1], 2), clock))
            if int(ready.value) and int(valid.value):
                self.moved.append(clock)
            await RisingEdge(self.dut.clk)
            clock += 1
