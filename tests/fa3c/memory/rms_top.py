"""RMSProp with theta and squares on one master, as in the core: what test_rms.py simulates."""

from dataclasses import replace

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.memory.rms import Rms
from hw.shell.interconnect import InterconnectConfig, ReadInterconnect, WriteInterconnect
from hw.shell.ports import read_port, write_port

__all__ = ["INTERCONNECT", "RmsTop"]

#: Covers a memory of 64 clocks.
INTERCONNECT = InterconnectConfig(ports=2, depth=128, burst_beats=16, bursts=32)


class RmsTop(wiring.Component):
    """Has the members of ``Rms``, except that ``reads`` and ``writes`` replace the ports of theta,
    of squares and of the transposed image."""

    def __init__(self, config):
        self.rms = Rms(config)
        members = self.rms.signature.members
        images = ("theta", "squares", "transposed")
        self.ports = {
            kind: [f"{name}_{kind}" for name in images if f"{name}_{kind}" in members]
            for kind in ("read", "write")
        }
        own = sum(self.ports.values(), [])
        self.same = [name for name in members if name not in own]
        super().__init__(
            {
                **{name: members[name] for name in self.same},
                "reads": Out(read_port(512)),
                "writes": Out(write_port(512)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.rms = rms = self.rms
        m.submodules.reads = reads = ReadInterconnect(INTERCONNECT)
        count = len(self.ports["write"])
        m.submodules.writes = writes = WriteInterconnect(replace(INTERCONNECT, ports=count))
        for kind, joint in (("read", reads), ("write", writes)):
            for name, place in zip(self.ports[kind], joint.ports, strict=True):
                wiring.connect(m, getattr(rms, name), place)
        wiring.connect(m, wiring.flipped(self.reads), reads.memory)
        wiring.connect(m, wiring.flipped(self.writes), writes.memory)
        for path, member, outer in self.signature.flatten(self):
            if path[0] in self.same:
                inner = rms
                for key in path:
                    inner = inner[key] if isinstance(key, int) else getattr(inner, key)
                m.d.comb += inner.eq(outer) if member.flow == In else outer.eq(inner)
        return m
