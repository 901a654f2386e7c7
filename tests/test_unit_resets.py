"""After a reset a unit does what it does after power-up, whatever it did before.

Two copies of a unit get different random inputs, are reset together, and then get the same inputs:
a register that the reset forgets differs between them. Payloads count while their stream is valid.
"""

import random

import pytest
from amaranth import *
from amaranth.lib.wiring import In
from stream.resetting import driven

from hw.gae.config import GaeConfig, GaeKernelConfig
from hw.gae.intake.beat_counter import BeatCounter
from hw.shell.arbiter import Owners
from hw.shell.axi import REQUEST, EngineConfig
from hw.shell.burst import BurstSplitter
from hw.shell.interconnect import InterconnectConfig, ReadInterconnect, WriteInterconnect
from hw.shell.read_engine import ReadEngine
from hw.shell.stripes import StripedRead, StripedWrite
from hw.shell.width_conversion import Downsizer, Upsizer
from hw.shell.write_engine import WriteEngine
from hw.stream.pack import Pack, Unpack
from hw.stream.split import Split
from hw.uart.frame import FrameDecoder, FrameEncoder

ENGINE = EngineConfig(data_width=32, depth=8, burst_beats=4, bursts=3)
SHARED = InterconnectConfig(data_width=32, ports=3, depth=8, burst_beats=4, bursts=3, tokens=2)
GAE = GaeKernelConfig(gae=GaeConfig(rows=19), engine=EngineConfig(data_width=128))

#: Units without a block of memory, which this simulator does not have.
UNITS = {
    "splitter": lambda: BurstSplitter(ENGINE),
    "owners": lambda: Owners(SHARED),
    "read interconnect": lambda: ReadInterconnect(SHARED),
    "write interconnect": lambda: WriteInterconnect(SHARED),
    "read engine": lambda: ReadEngine(ENGINE),
    "write engine": lambda: WriteEngine(ENGINE),
    "striped read": lambda: StripedRead(32, 2, 4, 3),
    "striped write": lambda: StripedWrite(32, 2, 4, 3),
    "upsizer": lambda: Upsizer(32, 8),
    "downsizer": lambda: Downsizer(32, 8),
    "pack": lambda: Pack(8, 4, 3),
    "unpack": lambda: Unpack(8, 3),
    "split": lambda: Split(8, 4, 4),
    "encoder": FrameEncoder,
    "decoder": FrameDecoder,
    "beat counter": lambda: BeatCounter(GAE),
}
#: Outputs that mean something, and inputs that may be 1, only while another output has this level.
WHILE = {"o": ("active", 1), "base": ("active", 1), "step": ("active", 1), "start": ("active", 0)}


class Copy:
    """A unit, with its ports by the names that they have in Verilog."""

    def __init__(self, name):
        self.unit, self.ports = UNITS[name](), ({}, {})
        for path, member, value in self.unit.signature.flatten(self.unit):
            self.ports[member.flow == In]["__".join(map(str, path))] = Value.cast(value)

    def means(self, ctx, name):
        valid, level = WHILE.get(name, (f"{name.removesuffix('payload')}valid", 1))
        port = (self.ports[0] | self.ports[1]).get(valid)
        return port is None or ctx.get(port) == level

    def give(self, ctx, rng, *others):
        """Random inputs, the same to ``others``; counts often end while the test runs."""
        for name, port in self.ports[1].items():
            bits = 64 + 3 if len(port) == REQUEST.size else len(port)  # at most seven beats
            number = rng.getrandbits(bits) & rng.choice([-1, 1, 3, 7])
            for copy in (self, *others):
                given = name not in WHILE or self.means(ctx, name)
                ctx.set(copy.ports[1][name], number if given else 0)

    def shown(self, ctx):
        return {k: ctx.get(port) for k, port in self.ports[0].items() if self.means(ctx, k)}


@pytest.mark.parametrize("name", UNITS)
def test_nothing_is_left(name):
    one, other = Copy(name), Copy(name)
    m, rng, seen = Module(), random.Random(1), set()
    m.submodules += one.unit, other.unit

    async def bench(ctx, rst):
        for _ in range(12):
            for _ in range(rng.randint(1, 30)):
                one.give(ctx, rng)
                other.give(ctx, rng)
                await ctx.tick()
            ctx.set(rst, 1)
            await ctx.tick()
            ctx.set(rst, 0)
            for clock in range(40):
                one.give(ctx, rng, other)
                await ctx.delay(1e-9)
                assert one.shown(ctx) == other.shown(ctx), f"clock {clock} after the reset"
                seen.update(k for k, number in one.shown(ctx).items() if number)
                await ctx.tick()

    driven(m, bench)
    assert seen, "no output was ever anything but 0"
