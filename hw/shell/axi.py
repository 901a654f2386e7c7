"""AXI4 at a kernel's edge: flat ports for the pins, streams for the engines behind them.

The pins carry the classic names with one underscore (``m_axi_host_araddr``), so they are flat
members and not nested signatures. Inside the kernel a channel is a stream of those signals that
vary.
"""

from dataclasses import dataclass

from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.config import ConfigBase, check_range
from hw.errors import UsageError
from hw.stream.ram import RAM_STYLES

__all__ = [
    "ADDRESS",
    "REQUEST",
    "RESPONSE",
    "EngineConfig",
    "connect_master",
    "engine_of",
    "master_members",
    "read_beat",
    "slave_members",
    "write_beat",
]

#: What AR and AW carry: byte address of the first beat, beats - 1.
ADDRESS = data.StructLayout({"addr": 64, "len": 8})

#: What B carries; 0 is OKAY.
RESPONSE = data.StructLayout({"resp": 2})

#: A run of beats: byte address on a whole beat, beats >= 1 (a request of 0 beats is dropped).
REQUEST = data.StructLayout({"address": 64, "beats": 24})

_PAGE = 4096  # bytes that no burst may cross
_INCREMENT = 0b01
_CACHE = 0b0011  # modifiable, bufferable: lets the interconnect merge and convert
_ADDRESS_PINS = {
    "id": 1,
    "addr": 64,
    "len": 8,
    "size": 3,
    "burst": 2,
    "lock": 1,
    "cache": 4,
    "prot": 3,
    "qos": 4,
    "region": 4,
}


def read_beat(data_width):
    """The payload of channel R."""
    return data.StructLayout({"data": data_width, "resp": 2, "last": 1})


def write_beat(data_width):
    """The payload of channel W; all strobes are always 1."""
    return data.StructLayout({"data": data_width, "last": 1})


@dataclass(frozen=True, kw_only=True)
class EngineConfig(ConfigBase):
    """Sizes of a read or write engine.

    data_width : bits of a beat: 32, 64, 128, 256 or 512.
    depth : beats of data that may wait in the engine, at least ``burst_beats``; as many as the
        memory's latency in clocks, or more, keep it busy.
    burst_beats : beats of the longest burst, a power of two; a burst never crosses a multiple of
        so many beats in memory.
    bursts : write bursts that may wait for their response; a read engine does not use it.
    style : the style of the memory in which the beats wait, one of ``RAM_STYLES``.
    """

    data_width: int = 512
    depth: int = 256
    burst_beats: int = 64
    bursts: int = 64
    style: str = "auto"

    def __post_init__(self):
        if self.data_width not in (32, 64, 128, 256, 512):
            raise UsageError(f"data_width must be 32, 64, 128, 256 or 512, not {self.data_width!r}")
        longest = min(256, _PAGE // self.beat_bytes)
        check_range("burst_beats", self.burst_beats, 1, longest, f" at {self.data_width} bits")
        if self.burst_beats & (self.burst_beats - 1):
            raise UsageError(f"burst_beats must be a power of two, not {self.burst_beats!r}")
        check_range("depth", self.depth, self.burst_beats, 65536, " to hold a burst")
        check_range("bursts", self.bursts, 1, 1024)
        if self.style not in RAM_STYLES:
            raise UsageError(f"style must be one of {', '.join(RAM_STYLES)}, not {self.style!r}")

    @property
    def beat_bytes(self):
        return self.data_width // 8


def engine_of(config, master):
    """The ``EngineConfig`` of ``master``, a short name as "host".

    It is the field ``<master>_engine`` of the kernel's ``config``, or ``engine`` if there is no
    such field.
    """
    return getattr(config, f"{master}_engine", config.engine)


def master_members(prefix, data_width):
    """``{"<prefix>_<pin>": In or Out}`` of an AXI4 master with 64-bit addresses and a 1-bit ID.

    They are members of a ``wiring.Component``; ``data_width`` is the bits of a beat.
    """
    pins = {}
    for channel in ("aw", "ar"):
        pins |= {f"{channel}{name}": Out(width) for name, width in _ADDRESS_PINS.items()}
        pins |= {f"{channel}valid": Out(1), f"{channel}ready": In(1)}
    pins |= {"wdata": Out(data_width), "wstrb": Out(data_width // 8), "wlast": Out(1)}
    pins |= {"wvalid": Out(1), "wready": In(1)}
    pins |= {"bid": In(1), "bresp": In(2), "bvalid": In(1), "bready": Out(1)}
    pins |= {"rid": In(1), "rdata": In(data_width), "rresp": In(2), "rlast": In(1)}
    pins |= {"rvalid": In(1), "rready": Out(1)}
    return {f"{prefix}_{name}": member for name, member in pins.items()}


def slave_members(prefix, address_width=12):
    """``{"<prefix>_<pin>": In or Out}`` of an AXI4-Lite slave with 32-bit data.

    They are members of a ``wiring.Component``; ``address_width`` is the bits of a byte address.
    """
    pins = {"awaddr": In(address_width), "awvalid": In(1), "awready": Out(1)}
    pins |= {"wdata": In(32), "wstrb": In(4), "wvalid": In(1), "wready": Out(1)}
    pins |= {"bresp": Out(2), "bvalid": Out(1), "bready": In(1)}
    pins |= {"araddr": In(address_width), "arvalid": In(1), "arready": Out(1)}
    pins |= {"rdata": Out(32), "rresp": Out(2), "rvalid": Out(1), "rready": In(1)}
    return {f"{prefix}_{name}": member for name, member in pins.items()}


def connect_master(m, component, prefix, read_engine=None, write_engine=None):
    """Connects the AXI4 pins ``<prefix>_*`` of ``component`` to its engines, in the module ``m``.

    The streams ``ar`` and ``r`` of ``read_engine`` get the read channels, ``aw``, ``w`` and ``b``
    of ``write_engine`` the write channels. A direction whose engine is None stays silent: its valid
    and ready outputs are 0. Every output is driven, because Amaranth would turn an output that
    nothing drives into an input.
    """

    def pin(name):
        return getattr(component, f"{prefix}_{name}")

    size = exact_log2(len(pin("wstrb")))
    silent = stream.Signature(ADDRESS).create()
    for channel, engine in (("ar", read_engine), ("aw", write_engine)):
        address = silent if engine is None else getattr(engine, channel)
        values = {"addr": address.p.addr, "len": address.p.len, "valid": address.valid}
        constants = {"size": size, "burst": _INCREMENT, "cache": _CACHE}
        for name in [*_ADDRESS_PINS, "valid"]:
            value = values.get(name, constants.get(name, 0))
            m.d.comb += pin(f"{channel}{name}").eq(value)
        if engine is not None:
            m.d.comb += address.ready.eq(pin(f"{channel}ready"))

    if read_engine is None:
        m.d.comb += pin("rready").eq(0)
    else:
        m.d.comb += [
            read_engine.r.p.data.eq(pin("rdata")),
            read_engine.r.p.resp.eq(pin("rresp")),
            read_engine.r.p.last.eq(pin("rlast")),
            read_engine.r.valid.eq(pin("rvalid")),
            pin("rready").eq(read_engine.r.ready),
        ]
    if write_engine is None:
        m.d.comb += [pin(name).eq(0) for name in ("wdata", "wstrb", "wlast", "wvalid", "bready")]
    else:
        m.d.comb += [
            pin("wdata").eq(write_engine.w.p.data),
            pin("wstrb").eq(~0),
            pin("wlast").eq(write_engine.w.p.last),
            pin("wvalid").eq(write_engine.w.valid),
            write_engine.w.ready.eq(pin("wready")),
            write_engine.b.p.resp.eq(pin("bresp")),
            write_engine.b.valid.eq(pin("bvalid")),
            pin("bready").eq(write_engine.b.ready),
        ]
