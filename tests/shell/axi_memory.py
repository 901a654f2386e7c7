"""An AXI memory with an exact latency and chosen errors; AxiRam of cocotbext-axi has neither."""

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge


class LatencyMemory:
    """Takes one address a clock and one beat a clock; answers ``latency`` clocks later, in order.

    A beat of data is its address. ``bad`` holds addresses of beats (reads) or bursts (writes)
    that are answered with an error, SLVERR and DECERR in turn. ``written`` is ``{address: beat}``.
    """

    def __init__(self, dut, sides, *, latency, bad=(), prefix="m_axi"):
        self.dut, self.prefix = dut, prefix
        self.latency, self.bad = latency, {place: 2 + n % 2 for n, place in enumerate(bad)}
        self.written = {}
        self.beat_bytes = len(self.pin("wstrb"))
        for name in ("arready", "awready", "wready", "rvalid", "bvalid"):
            self.pin(name).value = int(name.endswith("ready"))
        for name in ("rid", "bid", "rdata", "rresp", "rlast", "bresp"):
            self.pin(name).value = 0
        for side in sides.split():
            cocotb.start_soon({"read": self._read, "write": self._write}[side]())

    def pin(self, name):
        return getattr(self.dut, f"{self.prefix}_{name}")

    def moves(self, channel):
        return all(int(self.pin(channel + part).value) for part in ("valid", "ready"))

    async def _read(self):
        beats, clock = [], 0  # (clock from which it may show, data, resp, last)
        while True:
            await ReadOnly()
            taken = self.moves("r")
            if self.moves("ar") and not int(self.dut.rst.value):
                address, length = (int(self.pin(f"ar{n}").value) for n in ("addr", "len"))
                for beat in range(length + 1):
                    here = address + beat * self.beat_bytes
                    beats.append(
                        (clock + self.latency, here, self.bad.get(here, 0), beat == length)
                    )
            if taken:
                beats.pop(0)
            await RisingEdge(self.dut.clk)
            clock += 1
            show = bool(beats) and beats[0][0] <= clock
            self.pin("rvalid").value = int(show)
            if show:
                for name, value in zip(("data", "resp", "last"), beats[0][1:], strict=True):
                    self.pin(f"r{name}").value = int(value)

    async def _write(self):
        bursts, data, answers, clock = [], [], [], 0
        while True:
            await ReadOnly()
            if self.moves("b"):
                answers.pop(0)
            if not int(self.dut.rst.value):
                if self.moves("aw"):
                    bursts.append([int(self.pin(f"aw{n}").value) for n in ("addr", "len")])
                if self.moves("w"):
                    data.append(int(self.pin("wdata").value))
            if bursts and len(data) > bursts[0][1]:
                address, length = bursts.pop(0)
                for beat in range(length + 1):
                    self.written[address + beat * self.beat_bytes] = data.pop(0)
                answers.append((clock + self.latency, self.bad.get(address, 0)))
            await RisingEdge(self.dut.clk)
            clock += 1
            show = bool(answers) and answers[0][0] <= clock
            self.pin("bvalid").value = int(show)
            if show:
                self.pin("bresp").value = answers[0][1]
