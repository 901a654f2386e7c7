"""binary32 to signed fixed point.

Three register stages (shift, round, clip): interval 1, latency 3. No DSP block.
"""

from dataclasses import dataclass

from amaranth import *

from hw.arith.fixed import FixedFormat
from hw.arith.float32.format import BIAS, PRECISION, decode
from hw.arith.float32.unit import Float32Unit
from hw.config import ConfigBase, check_range
from hw.errors import UsageError
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["Quantize", "QuantizeConfig", "quantize"]


@dataclass(frozen=True, kw_only=True)
class QuantizeConfig(ConfigBase):
    """Config of ``Quantize``.

    target : SQ format of the result, of at most 32 bits.
    tag_width : bits of a tag that travels with the operand; 0 for none.
    """

    target: FixedFormat
    tag_width: int = 0

    def __post_init__(self):
        target = self.target
        if not isinstance(target, FixedFormat) or not target.signed or target.width > 32:
            raise UsageError(f"target must be an SQ format of at most 32 bits, not {target!r}")
        check_range("tag_width", self.tag_width, 0, 4096)


class Quantize(Float32Unit):
    """``value = clip(floor(x * 2**fraction + 1/2), low, high)``, raw of ``config.target``.

    ``fraction``, ``low`` and ``high`` are the format's. ``saturated`` is 1 if the value was
    clipped. A NaN gives 0, and counts as saturated; a subnormal counts as 0.

    Parameters
    ----------
    config : QuantizeConfig

    Members
    -------
    i : In(stream.Signature({x: 32, tag}))
        One binary32 number an item, and a tag, which comes out unchanged with its value.
    o : Out(stream.Signature({value: config.target.shape, saturated: 1, tag}))
        One value for each number, in order.
    """

    OPERANDS = ("x",)
    LATENCY = 3

    def __init__(self, config):
        self.RESULTS = {"value": config.target.shape, "saturated": 1}
        super().__init__(config)

    def elaborate(self, platform):
        m = Module()
        target = self.config.target
        width = target.width
        advance = self.last_stages(m, self.i.valid, self.i.p.tag, self.LATENCY)
        m.d.comb += self.i.ready.eq(advance)

        # |x| = significand * 2**(shift - PRECISION - 1) in units of the target: with shift < 0 it
        # is below 1/4, with shift > width + 1 beyond every number of the format.
        x = decode(m, self.i.p.x, name="x")
        shift = Signal(signed(10))
        inside, over = Signal(), Signal()
        wide = Signal(width + PRECISION + 1)
        m.d.comb += [
            shift.eq(x.exponent + (target.fraction + 2 - BIAS)),
            inside.eq((shift >= 0) & ~over),
            over.eq(shift > width + 1),
            wide.eq(Mux(inside, x.significand << shift[: (width + 1).bit_length()], 0)),
        ]
        s1_wide = Signal.like(wide, reset_less=True)
        s1_sign = Signal(reset_less=True)

        # Stage 2: half up is away from zero for a positive half, and towards it for a negative one;
        # the complement takes the other carry.
        whole, guard = s1_wide[PRECISION + 1 :], s1_wide[PRECISION]
        sticky = s1_wide[:PRECISION].any()
        up = Signal()
        m.d.comb += up.eq(Mux(s1_sign, ~(guard & sticky), guard))
        s2_value = Signal(signed(width + 2), reset_less=True)
        s2_sign = delay(m, s1_sign, 1, name="sign", enable=advance)
        s2_over = delay(m, over, 2, name="over", enable=advance)
        s2_nan = delay(m, x.nan, 2, name="nan", enable=advance)

        # Stage 3: clip.
        beyond = Signal()
        m.d.comb += beyond.eq(s2_over | (s2_value < target.low) | (s2_value > target.high))
        s3_value = Signal(target.shape, reset_less=True)
        s3_saturated = Signal(reset_less=True)
        with m.If(advance):
            m.d.sync += [
                s1_wide.eq(wide),
                s1_sign.eq(x.sign),
                s2_value.eq(Cat(whole ^ s1_sign.replicate(width), s1_sign).as_signed() + up),
                s3_saturated.eq(beyond | s2_nan),
                s3_value.eq(Mux(beyond, Mux(s2_sign, target.low, target.high), s2_value)),
            ]
            with m.If(s2_nan):
                m.d.sync += s3_value.eq(0)
        m.d.comb += [self.o.p.value.eq(s3_value), self.o.p.saturated.eq(s3_saturated)]
        return m


def quantize(m, x, target, *, name):
    """A ``Quantize`` without handshake in ``m``, for a new number every clock.

    Returns its outputs ``(value, saturated)``, which belong to the binary32 bits ``x`` of
    ``Quantize.LATENCY`` clocks ago. ``target`` is the format of the value.
    """
    m.submodules[f"{name}_unit"] = unit = SharedModule(Quantize, QuantizeConfig(target=target))
    value = Signal(target.shape, name=name)
    saturated = Signal(name=f"{name}_saturated")
    m.d.comb += [
        unit.i.payload.eq(x),
        unit.i.valid.eq(1),
        unit.o.ready.eq(1),
        value.eq(unit.o.p.value),
        saturated.eq(unit.o.p.saturated),
    ]
    return value, saturated
