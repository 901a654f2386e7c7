"""Fixed point to binary32.

Four register stages (magnitude, normalise in two, round): interval 1, latency 4. No DSP block.
"""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.fixed import FixedFormat
from hw.arith.float32.format import BIAS, PRECISION, SIDE, WIDTH, normalise, rounded
from hw.config import ConfigBase, check_range
from hw.errors import UsageError
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["ToFloat", "ToFloatConfig", "to_float", "to_float_stream"]


@dataclass(frozen=True, kw_only=True)
class ToFloatConfig(ConfigBase):
    """Config of ``ToFloat``.

    source : SQ or UQ format of the operand.
    tag_width : bits of a tag that travels beside the operand; 0 for none.
    """

    source: FixedFormat
    tag_width: int = 0

    def __post_init__(self):
        if not isinstance(self.source, FixedFormat):
            raise UsageError(f"source must be an SQ or UQ format, not {self.source!r}")
        check_range("tag_width", self.tag_width, 0, 4096)

    @property
    def i_layout(self):
        return data.StructLayout({"raw": self.source.shape, "tag": self.tag_width})

    @property
    def o_layout(self):
        return data.StructLayout({"result": WIDTH, "tag": self.tag_width})


class ToFloat(wiring.Component):
    """``result = raw * 2**-fraction`` in binary32, rounded to nearest even; zero gives +0.

    Parameters
    ----------
    config : ToFloatConfig

    Members
    -------
    i : In(stream.Signature({raw: config.source.shape, tag}))
        One raw number of ``config.source`` an item, and a tag, which comes out unchanged beside its
        result. ``fraction`` is that of the format.
    o : Out(stream.Signature({result: 32, tag}))
        One result for each number, in order.
    """

    INTERVAL = 1
    LATENCY = 4

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(config.i_layout)),
                "o": Out(stream.Signature(config.o_layout)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        source = self.config.source
        advance = Signal()
        m.d.comb += [advance.eq(~self.o.valid | self.o.ready), self.i.ready.eq(advance)]

        # Stage 1: sign and magnitude, at the top of a word with room to round.
        raw = self.i.p.raw
        width = max(source.width, PRECISION + 2)
        negative = raw < 0
        s1_magnitude = Signal(width, reset_less=True)
        s3_sign = delay(m, negative, 3, name="sign", enable=advance)

        # Stages 2 and 3: shift out the zeros at the top; far counts them.
        steps = [1 << k for k in reversed(range((width - 1).bit_length()))]
        half = len(steps) // 2
        next_value, next_far = normalise(m, s1_magnitude, steps[:half])
        s2_value = delay(m, next_value, 1, name="upper", enable=advance)
        s2_far = delay(m, next_far, 1, name="upper_far", enable=advance)
        next_value, next_far = normalise(m, s2_value, steps[half:])
        s3_value = delay(m, next_value, 1, name="lower", enable=advance)
        s3_far = delay(m, Cat(next_far, s2_far), 1, name="far", enable=advance)

        # Stage 4: round. Without a leading one the number is zero.
        side = Signal(SIDE)
        m.d.comb += [
            side.exponent.eq(BIAS + source.width - 1 - source.fraction - s3_far),
            side.sign.eq(s3_sign),
            side.zero.eq(~s3_value[-1]),
        ]
        s4_result = Signal(WIDTH, reset_less=True)
        guard, sticky = s3_value[-PRECISION - 1], s3_value[: -PRECISION - 1].any()
        magnitude = Mux(negative, -raw, raw)[: source.width]
        with m.If(advance):
            m.d.sync += [
                s1_magnitude.eq(magnitude << (width - source.width)),
                s4_result.eq(rounded(m, side, s3_value[-PRECISION:], guard, sticky)),
            ]
        m.d.comb += [
            self.o.p.result.eq(s4_result),
            self.o.p.tag.eq(delay(m, self.i.p.tag, self.LATENCY, name="tag", enable=advance)),
            self.o.valid.eq(
                delay(m, self.i.valid, self.LATENCY, name="valid", enable=advance, reset=True)
            ),
        ]
        return m


def to_float(m, raw, fraction, *, name):
    """The binary32 bits of ``raw * 2**-fraction``, by a ``ToFloat`` without handshake in ``m``.

    ``raw`` is a value of any integer shape, a new one every clock. The bits belong to the ``raw``
    of ``ToFloat.LATENCY`` clocks ago.
    """
    shape = raw.shape()
    source = FixedFormat(signed=shape.signed, integer=shape.width - fraction, fraction=fraction)
    m.submodules[f"{name}_unit"] = unit = SharedModule(ToFloat, ToFloatConfig(source=source))
    result = Signal(WIDTH, name=name)
    m.d.comb += [
        unit.i.payload.eq(raw),
        unit.i.valid.eq(1),
        unit.o.ready.eq(1),
        result.eq(unit.o.p.result),
    ]
    return result


def to_float_stream(m, format, source, sink, *, name):
    """Puts a ``ToFloat`` between two streams in ``m``, both given as tuples of signals.

    ``source`` is (raw number of ``format``, tag, valid), ``sink`` is (binary32 bits, tag, valid,
    ready). Returns the ready of ``source``.
    """
    raw, tag, valid = source
    config = ToFloatConfig(source=format, tag_width=len(tag))
    m.submodules[name] = unit = SharedModule(ToFloat, config)
    results = unit.o.p.result, unit.o.p.tag, unit.o.valid
    m.d.comb += [
        unit.i.p.raw.eq(raw.as_signed()),
        unit.i.p.tag.eq(tag),
        unit.i.valid.eq(valid),
        *(port.eq(result) for port, result in zip(sink, results, strict=False)),
        unit.o.ready.eq(sink[-1]),
    ]
    return unit.i.ready
