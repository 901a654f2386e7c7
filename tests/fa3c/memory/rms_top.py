"""RMSProp with theta and squares on one master, as in the core: what test_rms.py simulates, and
its clocks by a formula, to which the RTL is held, and which holds ``update_clocks``."""

from dataclasses import replace

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.memory.rms import Rms
from hw.fa3c.memory.rms_command import RmsKind
from hw.fa3c.memory.row_update import RowUpdate
from hw.fa3c.rows import ROW
from hw.shell.interconnect import InterconnectConfig, ReadInterconnect, WriteInterconnect
from hw.shell.ports import read_port, write_port

__all__ = ["INTERCONNECT", "RmsTop", "rms_cycles"]

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


def _interval(config, kind):
    """Clocks a row: 1; for an UPDATE what the RUs need, but at least two if theta and squares share
    a master, since each row of the gradient reads two rows and writes two rows."""
    shared = 2 // config.global_masters
    return max(shared, ROW // config.rms_units) if kind == RmsKind.UPDATE else 1


def rms_cycles(config, kind, layer, memory_latency, snapshot_latency):
    """Clocks from the taking of a command to ``done``.

    The number is right if gradients, words and reply never wait, if theta and squares share a
    memory of ``memory_latency`` behind the interconnects whose ``latency_of`` is used here, if
    bursts have 16 beats, and if theta and squares begin where a burst begins.

    config : Fa3cConfig
    kind : RmsKind
    layer : int, used by UPDATE only
    memory_latency : int, clocks from a request to its first beat
    snapshot_latency : int, clocks from the last row that ``snapshot_write`` takes to its token
    """
    burst, interval = INTERCONNECT.burst_beats, _interval(config, kind)
    read = ReadInterconnect.latency_of(INTERCONNECT, 1, memory_latency)
    # From a burst's last beat to its token, without the clock of each beat.
    write = WriteInterconnect.latency_of(INTERCONNECT, 2, memory_latency) - 3
    rows = config.theta_rows
    if kind == RmsKind.SYNC:
        return interval * rows + read + snapshot_latency + 1
    if kind == RmsKind.LOAD:
        return interval * rows + min(rows, burst) + write + 1
    if kind == RmsKind.STORE:
        return interval * rows + read + 1
    layer = config.layers[layer]
    group = layer.depth + 1
    # The first row of squares comes behind the first burst of theta. With 16 RUs, a row a clock,
    # the RUs make up for this.
    first = min(burst, group) if config.rms_units < ROW else 0
    # If the last burst is short, it waits for the burst before it, or the last burst of theta
    # waits for the last burst of squares.
    last, before = (group - 1) % burst + 1, burst
    if group <= burst:
        before = group if layer.groups > 1 else 0
    lead = RowUpdate.LATENCY - RowUpdate.SQUARES_LATENCY - 2 * burst
    wait = max(0, before - interval * last, (before - lead - last) * (interval == 2))
    fixed = read + first + RowUpdate.LATENCY + wait + last + write + 1
    return interval * layer.gradient_rows + fixed
