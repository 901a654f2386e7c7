"""A small command table: every kind of limit, values and stages, rules, footprints of all sorts."""

from dataclasses import dataclass

from amaranth import signed
from amaranth.lib import data, enum

from hw.config import ConfigBase
from hw.shell.axi import EngineConfig
from hw.shell.buffers import HOST_BUFFERS, Buffer
from hw.shell.command import Command, CommandTable, Footprint, Rule, counted, operands, results
from hw.shell.layout import Field

__all__ = ["CONFIG", "STATE", "TABLE", "Small", "buffers"]


@dataclass(frozen=True, kw_only=True)
class SmallConfig(ConfigBase):
    """Beats of 16 bytes, and of 32 in the heap."""

    limit: int = 37
    engine: EngineConfig = EngineConfig(data_width=128)
    heap_engine: EngineConfig = EngineConfig(data_width=256)


CONFIG = SmallConfig()
#: What the rules read; the core's.
STATE = data.StructLayout({"fill": 7, "level": signed(8), "locked": 1})


class Small(enum.Enum, shape=8):
    PING = 1  #: nothing at all
    LIMITS = 2  #: fields of 32 bits
    WIDE = 3  #: fields of 64 bits, an array; they fill the command
    MOVE = 4  #: moves operands, a list of operands, results
    REACH = 5  #: what the core itself reaches, and requests that may be too long
    LOCK = 6  #: rules


def buffers(beat_bytes):
    """Those of the host's master have beats of so many bytes."""
    host = {buffer.name: (buffer, beat_bytes) for buffer in HOST_BUFFERS[1:3]}
    return host | {
        "heap": (Buffer(name="heap", master="heap", large=True), 32),
        "scratch": (Buffer(name="scratch", master="scratch"), 16),
    }


_LIMITS = Command(
    Small.LIMITS,
    "",
    (
        Field("free", "u32", ""),
        Field("high", "u32", "", high=lambda config: config.limit),
        Field("low", "u32", "", low=3),
        Field("both", "u32", "", low=2, high=9, error=20),
        Field("signed", "i32", "", low=-5, high=7),
        Field("signed_low", "i32", "", low=-4),
        Field("signed_high", "i32", "", high=-3),
        Field("signed_free", "i32", ""),
        Field("real", "f32", ""),
    ),
    values={"shift": lambda c, s: c.signed},
    rules=(
        Rule(
            21, lambda c, s: c.signed_high + c.signed_free < s.level, "", lambda c, s: c.free & 0xFF
        ),
        Rule(22, lambda c, s: (c.signed_low > 100) & (c.both == 9), "", lambda c, s: c.high + 1),
        Rule(23, lambda c, s: c.last > 20, ""),
    ),
)
_WIDE = Command(
    Small.WIDE,
    "",
    (
        Field("signed", "i64", "", low=-(1 << 40), high=(1 << 40) + 3),
        Field("high", "u64", "", high=(1 << 33) + 3),
        Field("low", "u64", "", low=5),
        Field("pair", "u64", "", 2),
        Field("signed_free", "i64", ""),
    ),
    rules=(
        Rule(24, lambda c, s: c.pair[1] >> 60 != 0, "", lambda c, s: 40),
        Rule(25, lambda c, s: c.signed * 3 > c.signed_free, ""),
        Rule(26, lambda c, s: c.high + c.pair[0] == 1 << 33, "", lambda c, s: s.fill),
    ),
)
_MOVE = Command(
    Small.MOVE,
    "",
    (
        Field("width", "u32", "", high=300),
        Field("listed", "u32", "", high=1),
        Field("list", "u32", "byte offset"),
    ),
    count=Field("count", "u32", "", high=200),
    values={"items": lambda c, s: c.count, "width": lambda c, s: c.width},
    footprints=(
        operands(lambda c, s: c.count * 12, ""),
        operands(lambda c, s: c.count * 8 * (c.listed != 0), "", offset="list"),
        results(lambda c, s: c.area, ""),
        Footprint("scratch", lambda c, s: (c.last >> 6) + s.fill, ""),
    ),
    rules=(Rule(27, lambda c, s: c.last == 4 * 12 * 34, "a product that is known"),),
)
_REACH = Command(
    Small.REACH,
    "",
    (Field("pages", "u32", "", high=1 << 30), Field("span", "u32", "")),
    count=counted(1 << 25),
    # In another order than those of MOVE, and so checked in the order of these.
    footprints=(
        Footprint("heap", lambda c, s: c.pages * 4096 - (c.pages != 0) * 33, ""),
        results(lambda c, s: c.count * 64, "", moved=False),
        operands(lambda c, s: c.span, "", moved=False),
    ),
)
_LOCK = Command(
    Small.LOCK,
    "",
    count=counted(lambda config: config.limit),
    footprints=(operands(lambda c, s: c.count * 64, ""),),
    rules=(
        Rule(28, lambda c, s: (s.locked == 1) & (c.count > 3), "", lambda c, s: c.count),
        Rule(29, lambda c, s: s.level < -100, "", lambda c, s: s.fill + 1),
    ),
)

TABLE = CommandTable(
    (Command(Small.PING, ""), _LIMITS, _WIDE, _MOVE, _REACH, _LOCK),
    stages={
        "area": lambda c, s: c.items * c.width,
        "more": lambda c, s: c.area * 4,
        # A place and rules wait for it: they are right at LATENCY and no earlier.
        "last": lambda c, s: c.shift * 3 + c.more,
    },
)
