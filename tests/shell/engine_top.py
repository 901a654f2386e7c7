"""A read and a write engine, or one of them, behind the pins of one AXI4 master."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.shell.axi import REQUEST, connect_master, master_members
from hw.shell.ports import read_beats
from hw.shell.read_engine import ReadEngine
from hw.shell.write_engine import WriteEngine


class EngineTop(wiring.Component):
    """``sides`` is "read", "write" or "read write"; the members of the engines carry the side."""

    def __init__(self, config, sides):
        self.config, self.sides = config, sides.split()
        word = stream.Signature(unsigned(config.data_width))
        members = master_members("m_axi", config.data_width)
        for side in self.sides:
            members |= {f"{side}_request": In(stream.Signature(REQUEST)), f"{side}_busy": Out(1)}
        if "read" in self.sides:
            members |= {"read_data": Out(stream.Signature(read_beats(config.data_width)))}
        if "write" in self.sides:
            members |= {"write_data": In(word), "write_done": Out(stream.Signature(1))}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        read = write = None
        if "read" in self.sides:
            m.submodules.read = read = ReadEngine(self.config)
            wiring.connect(m, wiring.flipped(self.read_request), read.request)
            wiring.connect(m, wiring.flipped(self.read_data), read.data)
            m.d.comb += self.read_busy.eq(read.busy)
        if "write" in self.sides:
            m.submodules.write = write = WriteEngine(self.config)
            wiring.connect(m, wiring.flipped(self.write_request), write.request)
            wiring.connect(m, wiring.flipped(self.write_data), write.data)
            wiring.connect(m, wiring.flipped(self.write_done), write.done)
            m.d.comb += self.write_busy.eq(write.busy)
        connect_master(m, self, "m_axi", read, write)
        return m
