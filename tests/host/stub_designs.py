"""A design as small as one can be, in the shape of an entry of ``hw.designs.DESIGNS``."""

from dataclasses import dataclass, field
from enum import Enum

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.config import ConfigBase, check_range
from hw.estimate import Estimate
from hw.shell.axi import EngineConfig
from hw.shell.buffers import Buffer
from hw.shell.command import Command as CommandEntry
from hw.shell.description import KernelDescription, master_descriptions, standard_arguments
from hw.shell.layout import Field
from hw.stream.ram import Ram

BUFFERS = (Buffer(name="storage", master="storage", large=True),)


class Command(Enum):
    FILL = 1


@dataclass(frozen=True, kw_only=True)
class PartConfig(ConfigBase):
    depth: int = 8


@dataclass(frozen=True, kw_only=True)
class StubConfig(ConfigBase):
    data_width: int = 512
    capacity: int = 1024
    fanout: int = 16
    rate: float = 0.5
    fast: bool = False
    style: str = "block"
    read: PartConfig = field(default_factory=PartConfig)
    write: PartConfig = field(default_factory=PartConfig)

    @property
    def engine(self):
        return EngineConfig(data_width=self.data_width)

    def __post_init__(self):
        check_range("capacity", self.capacity, self.fanout, 1 << 40)


class Stub(wiring.Component):
    """A memory with its read port, enough for every kind of waived warning."""

    def __init__(self, config):
        self.config = config
        super().__init__({"address": In(8), "total": Out(40)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Ram(width=self.config.fanout, depth=256)
        m.d.comb += memory.read_address.eq(self.address)
        with m.If(self.total == 0):
            m.d.sync += self.total.eq(memory.read_data + 1)
        return m


class StubDesign:
    """A memory and nothing else."""

    name = "stub"
    largest = "storage"
    items = "capacity"
    training = None
    space = None
    library = None
    config_type = StubConfig
    summary = "a memory [for tests]"
    errors = {0: ("none", "done"), 16: ("odd", "an odd number")}

    def __init__(self, uram_leaves=None):
        self._uram_leaves = uram_leaves

    def default(self, numbers):
        return StubConfig(data_width=numbers["data_width"])

    def of(self, config):
        return self

    def kernel(self, config):
        return Stub(config)

    def storage(self, config):
        return config.capacity, 64

    def buffers(self, config):
        return {}

    def schedule(self, config):
        return "A picture.\n" if config.capacity == 4096 else ""

    def estimate(self, config):
        """One UltraRAM for ``uram_leaves`` leaves, or nothing; the same on an ECP5."""
        leaves = self._uram_leaves
        uram = -(-config.capacity // leaves) if leaves else 0
        return Estimate(lut=0, ff=0, bram36=0, uram=uram, dsp=0, ecp5=(0, 0, 0, uram, 0))

    def suggest(self, config, fits):
        return []

    def describe(self, config):
        return KernelDescription(
            name="stub",
            config=config.to_dict(),
            config_hash=config.hash64,
            arguments=standard_arguments(BUFFERS),
            masters=master_descriptions(BUFFERS, lambda master: config.data_width),
            verilog="stub.v",
        )

    def documents(self, config):
        value = Field("value", "u32", "what to write", low=1, high=lambda config: config.capacity)
        command = CommandEntry(Command.FILL, "Store it.", [value])
        return {"Stub commands": [command]}
