"""Numbers to codes, one lane for each number of a beat. Interval 1; one ``advance`` moves all
stages.

Stages: exponent; three of ``Quantize``; difference; partial products; product; two of shifting;
round and clip. For statistics the factor is the number itself, so that the product is its square.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.fixed import SQ
from hw.arith.float32.format import EXPONENT_MAX, FIELDS
from hw.arith.multiply import B_LIMB
from hw.arith.quantize import Quantize, QuantizeConfig
from hw.gae.layouts import EXPONENT, FACTOR_WIDTH, NUMBER_WIDTH, SHIFT_LIMIT
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["LANE_BITS", "NUMBER", "PRODUCT", "SCALE", "Standardize"]

LANE_BITS = 32

#: A number ``x`` counts as this, of ``x * 2**exponent``.
NUMBER = SQ(NUMBER_WIDTH, 0)

#: How a plane is standardized.
SCALE = data.StructLayout(
    {
        "exponent": EXPONENT,
        "mean": NUMBER.shape,
        "factor": FACTOR_WIDTH,
        "shift": range(SHIFT_LIMIT + 1),
    }
)

#: Of a difference of two numbers and a factor.
PRODUCT = signed(NUMBER.width + 1 + FACTOR_WIDTH)
_COARSE, _FINE = (32, 16, 8), (4, 2, 1)


class Standardize(wiring.Component):
    """``code = clip(floor(((x - mean) * factor + 2**(shift - 1)) / 2**shift))``, 0 if the lane has
    no number, with ``x = clip(floor(number * 2**exponent + 1/2))`` to 27 bits, signed.

    Source: HEPPO, section II-B, and equations 6 to 9 (dynamic standardization, quantization).

    Parameters
    ----------
    config : GaeConfig
    lanes : int
        Numbers of a beat.

    Members
    -------
    advance : In(1)
        1: every stage moves at the end of this clock; 0: all stand still. Latencies count clocks
        with ``advance``.
    i : In([32 bits], lanes)
        The numbers, in binary32.
    counts : In(lanes)
        Lanes that have a number; all results of the others are 0.
    values : In(1)
        The beat holds values, not rewards.
    rewards_scale, values_scale : In(SCALE), squares : In(1)
        exponent, mean, factor and shift of the formulas, for rewards and for values. ``squares``:
        compute with mean 0 and factor x instead, so that products are squares. All are steady.
    invalid : Out(lanes)
        In the clock of ``i``: the lane's number is infinite or NaN.
    x : Out([NUMBER], lanes)
        X_LATENCY clocks after ``i``: x of the formula.
    products : Out([54 bits, signed], lanes)
        PRODUCT_LATENCY clocks after ``i``: (x - mean) * factor.
    limit : In(code_width - 1)
        Largest code, ``2**(bits - 1) - 1`` of codes of 3 to ``code_width`` bits; the lowest is its
        negative. Steady; not read by codes of 32 bits, which have no fewer.
    codes : Out([code_width bits, signed], lanes), clipped : Out(lanes)
        LATENCY clocks after ``i``. ``clipped``: x was clipped to 27 bits, or (without ``squares``)
        the code was clipped to +-``limit``.
    """

    INTERVAL = 1
    X_LATENCY = 1 + Quantize.LATENCY
    PRODUCT_LATENCY = X_LATENCY + 3
    LATENCY = PRODUCT_LATENCY + 3

    def __init__(self, config, lanes):
        self.config, self.lanes = config, lanes
        array = data.ArrayLayout
        super().__init__(
            {
                "advance": In(1),
                "i": In(array(LANE_BITS, lanes)),
                "counts": In(lanes),
                "values": In(1),
                "rewards_scale": In(SCALE),
                "values_scale": In(SCALE),
                "squares": In(1),
                "limit": In(config.code_width - 1),
                "invalid": Out(lanes),
                "x": Out(array(NUMBER.shape, lanes)),
                "products": Out(array(PRODUCT, lanes)),
                "codes": Out(array(signed(config.code_width), lanes)),
                "clipped": Out(lanes),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # The scale of each stage's plane, shared by the lanes.
        planes = self._later(m, self.values, self.PRODUCT_LATENCY, "values")

        def scale(field, clock):
            plane = planes[clock]
            value = Mux(plane, self.values_scale[field], self.rewards_scale[field])
            signal = Signal(SCALE[field].shape, name=f"s{clock}_{field}", reset_less=True)
            with m.If(self.advance):
                m.d.sync += signal.eq(value)
            return signal

        exponent = Signal(EXPONENT)
        m.d.comb += exponent.eq(
            Mux(self.values, self.values_scale.exponent, self.rewards_scale.exponent)
        )
        mean = scale("mean", self.X_LATENCY - 1)
        factor = scale("factor", self.X_LATENCY - 1)
        shift = scale("shift", self.PRODUCT_LATENCY - 1)
        below = Signal(6)  # bits of a product below twice the code
        m.d.comb += below.eq(shift - 1)
        s8_fine = Signal(3, reset_less=True)
        with m.If(self.advance):
            m.d.sync += s8_fine.eq(below[:3])
        counts = self._later(m, self.counts, self.LATENCY - 1, "counts")[-1]
        for lane in range(self.lanes):
            x, saturated = self._number(m, lane, exponent)
            product = self._product(m, lane, x, mean, factor)
            code, clipped = self._code(m, lane, product, below, s8_fine)
            counted = counts[lane]
            late = self._later(m, saturated, self.LATENCY - 1 - self.X_LATENCY, f"over_{lane}")[-1]
            out = Signal(signed(self.config.code_width), name=f"s10_code_{lane}", reset_less=True)
            s10_clipped = Signal(name=f"s10_clipped_{lane}", reset_less=True)
            with m.If(self.advance):
                m.d.sync += [
                    out.eq(Mux(counted, code, 0)),
                    s10_clipped.eq(counted & (late | (clipped & ~self.squares))),
                ]
            m.d.comb += [
                self.x[lane].eq(x),
                self.products[lane].eq(product),
                self.codes[lane].eq(out),
                self.clipped[lane].eq(s10_clipped),
            ]
        return m

    def _later(self, m, value, clocks, name):
        """``[value, value a clock later, ..., value clocks later]``."""
        values = [value]
        for clock in range(1, clocks + 1):
            values.append(delay(m, values[-1], 1, name=f"{name}_s{clock}", enable=self.advance))
        return values

    def _number(self, m, lane, exponent):
        """Returns ``x``, and whether it was clipped."""
        fields = data.View(FIELDS, self.i[lane])
        scaled = Signal(signed(11), name=f"exponent_{lane}")
        empty = ~self.counts[lane] | (fields.exponent == 0) | (scaled < 1)
        last = fields.exponent == EXPONENT_MAX
        number = Signal(FIELDS, name=f"number_{lane}")
        m.d.comb += [
            scaled.eq(fields.exponent + exponent),
            number.sign.eq(fields.sign & ~empty),
            # Beyond binary32 is far beyond what counts, as is its last finite exponent.
            number.exponent.eq(Mux(scaled >= EXPONENT_MAX, EXPONENT_MAX - 1, scaled[:8])),
            number.fraction.eq(fields.fraction),
            self.invalid[lane].eq(self.counts[lane] & last),
        ]
        with m.If(empty):
            m.d.comb += [number.exponent.eq(0), number.fraction.eq(0)]
        s1_number = Signal(FIELDS, name=f"s1_number_{lane}", reset_less=True)
        with m.If(self.advance):
            m.d.sync += s1_number.eq(number)
        unit = SharedModule(Quantize, QuantizeConfig(target=NUMBER))
        m.submodules[f"quantize_{lane}"] = unit
        # Always full after the first clocks: then its stages move with ``o.ready``.
        m.d.comb += [
            unit.i.p.x.eq(s1_number),
            unit.i.valid.eq(1),
            unit.o.ready.eq(self.advance),
        ]
        return unit.o.p.value, unit.o.p.saturated

    def _product(self, m, lane, x, mean, factor):
        """The product in two DSP blocks: one for the lower part of the difference, one for the
        upper."""
        s5_difference = Signal(signed(NUMBER.width + 1), name=f"s5_x_{lane}", reset_less=True)
        s5_factor = Signal(signed(FACTOR_WIDTH + 1), name=f"s5_factor_{lane}", reset_less=True)
        low, high = s5_difference[:B_LIMB], s5_difference[B_LIMB:].as_signed()
        s6_low = Signal((low * s5_factor).shape(), name=f"s6_low_{lane}", reset_less=True)
        s6_high = Signal((high * s5_factor).shape(), name=f"s6_high_{lane}", reset_less=True)
        s7_product = Signal(PRODUCT, name=f"s7_product_{lane}", reset_less=True)
        total = s6_low + (s6_high << B_LIMB)
        with m.If(self.advance):
            m.d.sync += [
                s5_difference.eq(x - Mux(self.squares, 0, mean)),
                s5_factor.eq(Mux(self.squares, x, factor)),
                s6_low.eq(low * s5_factor),
                s6_high.eq(high * s5_factor),
                s7_product.eq(total[: PRODUCT.width]),
            ]
        return s7_product

    def _code(self, m, lane, product, below, s8_fine):
        """The code, rounded and clipped, before the last register."""
        width = self.config.code_width
        limit = self.limit if self.config.most_code_bits else C(self.config.code_limit, width - 1)

        def shifted(value, steps, select, name):
            """Shifts right by ``select``. Also returns whether a dropped upper bit differs from the
            sign; then the number is beyond every code, whatever the later steps do."""
            sign, far = value[-1], C(0)
            for k, step in enumerate(steps):
                moved = Signal(value.shape(), name=f"{name}_{step}_{lane}")
                m.d.comb += moved.eq(Mux(select[len(steps) - 1 - k], value >> step, value))
                keep = min(len(moved), width + step)
                far |= (moved[keep - 1 :] ^ sign.replicate(len(moved) - keep + 1)).any()
                value = moved[:keep].as_signed()
            return value, far

        coarse, far = shifted(product, _COARSE, below[len(_FINE) :], "coarse")
        s8_value = Signal(coarse.shape(), name=f"s8_value_{lane}", reset_less=True)
        s8_far = Signal(name=f"s8_far_{lane}", reset_less=True)
        s9_sign = self._later(m, product[-1], 2, f"sign_{lane}")[-1]
        fine, fine_far = shifted(s8_value, _FINE, s8_fine, "fine")
        s9_twice = Signal(fine.shape(), name=f"s9_twice_{lane}", reset_less=True)
        s9_far = Signal(name=f"s9_far_{lane}", reset_less=True)
        with m.If(self.advance):
            m.d.sync += [
                s8_value.eq(coarse),
                s8_far.eq(far),
                s9_twice.eq(fine),
                s9_far.eq(s8_far | fine_far),
            ]
        rounded = Signal(signed(width + 1), name=f"rounded_{lane}")
        clipped = Signal(name=f"beyond_{lane}")
        # All bits of ``limit`` are ones. Below -limit - 1 and above limit, a bit left of them is
        # not the sign; of -limit - 1 itself, all bits in their places are 0.
        negative = rounded[-1]
        left = (rounded ^ negative.replicate(width + 1)) & ~Cat(limit, C(0, 2))
        lowest = negative & ~(rounded[: width - 1] & limit).any()
        m.d.comb += [
            rounded.eq((s9_twice + 1) >> 1),
            clipped.eq(s9_far | left.any() | lowest),
        ]
        at_limit = Cat(limit ^ s9_sign.replicate(width - 1), s9_sign) | 1
        return Mux(clipped, at_limit, rounded[:width]), clipped
