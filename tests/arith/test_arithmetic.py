"""hw.arith.arithmetic: its operations against integers and the float32 twin, and its area."""

from itertools import product

import numpy as np
import pytest
from amaranth import Const, Shape, Signal, signed, unsigned
from arith.float32_cases import CORNERS, bits, corners, floats, random_operands
from arith.free_running import FreeRunning, check, check_together, dsp_blocks

from hw.arith.arithmetic import Arithmetic
from hw.arith.binary32 import Binary32
from hw.arith.fixed import SQ
from hw.arith.fixed_point import DualPrecision, FixedPoint
from hw.arith.float32.format import times_power_of_two
from sim.model.arith import float32
from sim.model.arith.arithmetic import twin_of
from sim.model.arith.fixed import requantize

FLOAT, FIXED, DUAL = Binary32(), FixedPoint(), DualPrecision()
#: A product with fewer fraction bits than some results.
COARSE = Arithmetic(kind="fixed", weight=SQ(5, 2), activation=SQ(6, 3), gradient=SQ(2, 9))
EACH = {"float": FLOAT, "fixed": FIXED, "dual": DUAL}


def test_conversions(simulate, tmp_path):
    """To and from binary32 at once, one as an activation of a product, what a sign says."""
    check_together(simulate, tmp_path, {name: converted(each) for name, each in EACH.items()})


def converted(arithmetic):
    """A case of ``check_together``."""

    def build(m, ports):
        bits, value = ports["bits"], ports["value"]
        one = Signal(outputs["one"])
        m.d.comb += one.eq(arithmetic.times_one(value))
        number, clipped = arithmetic.quantize(m, bits, kind="gradient", name="number")
        return dict(
            number=number,
            clipped=clipped,
            real=arithmetic.to_float(m, value, kind="activation", name="real"),
            positive=arithmetic.positive(m, value, name="positive"),
            one=one,
        )

    twin, shape = twin_of(arithmetic), arithmetic.shape("activation")
    one_width = shape.width + (arithmetic.activation.fraction if arithmetic.saturates else 0)
    outputs = dict(number=arithmetic.shape("gradient"), clipped=1, real=32, positive=1)
    outputs |= dict(one=Shape(one_width, shape.signed))
    raw = np.concatenate([x[::9] for x in corners(1)] + [random_operands(1, 300, seed=3)[0]])
    values = floats(raw)
    least = np.finfo(np.float32).tiny  # a subnormal is a zero
    if arithmetic.saturates:
        values = operands(arithmetic.activation, np.random.default_rng(3), len(raw))
        least = 1
    number, clipped = twin.quantize(floats(raw), "gradient")
    assert clipped.any() == arithmetic.saturates and not clipped.all()

    def shown(array):
        return bits(array) if array.dtype == np.float32 else array

    return (
        FreeRunning(dict(bits=32, value=shape), outputs, build),
        dict(bits=raw, value=shown(values)),
        dict(
            number=raw if not arithmetic.saturates else number,
            clipped=clipped,
            real=shown(twin.to_float(values, "activation")),
            positive=values >= least,
            one=shown(twin.times_one(values)),
        ),
        dict(
            number=arithmetic.quantize_latency,
            clipped=arithmetic.quantize_latency,
            real=arithmetic.to_float_latency,
            positive=0,
            one=0,
        ),
    )


@pytest.mark.parametrize("kind", ["weight", "activation", "gradient"])
def test_numbers_that_are_constants(kind):
    """Beyond both ends of a format, half of its unit, and -1 of the narrowest."""
    for arithmetic in (*EACH.values(), COARSE):
        values = np.array([0, 1, -1, *(-(2.0**k) for k in range(-20, 21)), 3.14], np.float32)
        found, clipped = zip(*(arithmetic.number(x, kind=kind) for x in values), strict=True)
        expected, over = twin_of(arithmetic).quantize(values, kind)
        if not arithmetic.saturates:
            expected = bits(expected)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(clipped, over)
        assert any(clipped) == arithmetic.saturates


def test_products_with_powers_of_two(simulate, tmp_path):
    """All corners, and numbers whose product is at either end of the exponents, by every power that
    a record can have and by those at the ends of binary32."""
    rng, places = np.random.default_rng(7), np.array([*range(-9, 10), -126, 126])
    ends = np.concatenate([np.arange(20), np.arange(236, 256), rng.integers(0, 256, 20)])
    near = np.concatenate([(ends << 23) | low for low in (0, 1, 0x7F_FFFE, 0x7F_FFFF)])
    numbers = np.concatenate([CORNERS, near, near | 1 << 31]).astype(np.uint32)
    x, power = (each.reshape(-1) for each in np.meshgrid(numbers, places))
    with np.errstate(all="ignore"):
        expected = bits(float32.multiply(floats(x), np.float32(2.0) ** power.astype(np.float32)))

    def build(m, ports):
        y = Signal(32)
        m.d.comb += y.eq(times_power_of_two(ports["x"], ports["places"]))
        return dict(y=y)

    unit = FreeRunning({"x": 32, "places": signed(8)}, {"y": 32}, build)
    inputs = {"x": x, "places": power}
    check_together(simulate, tmp_path, {"all": (unit, inputs, {"y": expected}, {"y": 0})})


def test_float32(simulate, tmp_path):
    def build(m, ports):
        a, b = ports["a"], ports["b"]
        value, saturated = FLOAT.requantize(m, a, "weight", kind="gradient", name="same")
        return dict(
            product=FLOAT.multiply(m, a, b, name="multiplied"),
            total=FLOAT.add(m, a, b, name="added"),
            same_sum=FLOAT.add(m, a, Const(FLOAT.zero, 32), name="with_zero"),
            less=FLOAT.order_key(a) < FLOAT.order_key(b),
            value=value,
            saturated=saturated,
        )

    outputs = dict(product=32, total=32, same_sum=32, less=1, value=32, saturated=1)
    a, b = (
        np.concatenate(parts)
        for parts in zip([x[::7] for x in corners(2)], random_operands(2, 400, seed=4), strict=True)
    )
    x, y = floats(a), floats(b)
    # Where NaNs and subnormals are not, the keys have the order of the numbers, -0 below +0.
    plain = [np.isfinite(n) & ((np.abs(n) >= 2.0**-126) | (n == 0)) for n in (x, y)]
    a, b = a[plain[0] & plain[1]], b[plain[0] & plain[1]]
    x, y = floats(a), floats(b)
    less = (x < y) | ((x == y) & np.signbit(x) & ~np.signbit(y))
    check(
        simulate,
        tmp_path,
        FreeRunning(dict(a=32, b=32), outputs, build),
        dict(a=a, b=b),
        dict(
            product=bits(float32.multiply(x, y)),
            total=bits(float32.add(x, y)),
            same_sum=a,
            less=less,
            value=a,
            saturated=0 * a,
        ),
        dict(
            product=FLOAT.multiply_latency,
            total=FLOAT.add_latency,
            same_sum=FLOAT.add_latency,
            less=0,
            value=FLOAT.requantize_latency,
            saturated=FLOAT.requantize_latency,
        ),
    )
    assert (FLOAT.multiply_latency, FLOAT.add_latency, FLOAT.requantize_latency) == (5, 6, 0)
    assert FLOAT.zero == bits([np.float32(-0.0)])[0]
    assert FLOAT.shape("weight") == unsigned(32)
    assert FLOAT.sum_shape("weight", "activation", count=64) == unsigned(32)


def test_scaled_down(simulate, tmp_path):
    """All corners, numbers whose result is a subnormal or lies beside one, ties."""
    each = product(EACH, (1, 6))
    cases = {f"{name} {places}": scaled_down(EACH[name], places) for name, places in each}
    check_together(simulate, tmp_path, cases)


def scaled_down(arithmetic, places):
    """A case of ``check_together``."""
    shape, rng = arithmetic.shape("gradient"), np.random.default_rng(places)
    if arithmetic.saturates:
        ties = np.arange(-200, 200)
        x = np.concatenate([operands(arithmetic.gradient, rng, 300), ties])
        expected = np.floor(x / 2**places + 0.5).astype(np.int64)
        found = twin_of(arithmetic).scaled_down(x, places)
    else:
        small = rng.integers(0, (places + 2) << 23, 300).astype(np.uint32)
        small[::8] = np.resize(np.arange(places + 2), 38) << 23 | 0x7F_FFFF
        x = np.concatenate([CORNERS, small, small | np.uint32(1 << 31)])
        x = np.concatenate([x, rng.integers(0, 1 << 32, 200, np.uint32)])
        values = floats(x)
        expected = bits(float32.multiply(np.float32(0.5**places), values))
        found = bits(twin_of(arithmetic).scaled_down(values, places))
        assert np.isnan(floats(expected)).any() and (expected == 0x0080_0000).any()
    np.testing.assert_array_equal(found, expected)

    def build(m, ports):
        y = Signal(shape)
        m.d.comb += y.eq(arithmetic.scaled_down(ports["x"], places))
        return dict(y=y)

    return FreeRunning({"x": shape}, {"y": shape}, build), {"x": x}, {"y": expected}, {"y": 0}


def test_fixed(simulate, tmp_path):
    """Product, sum of products, and the sum in the target's format."""
    formats = {"fine": FIXED, "coarse": COARSE}
    each = product(formats, ("weight", "gradient"), ("activation", "gradient"))
    cases = {" ".join(case): summed(formats[case[0]], *case[1:]) for case in each}
    check_together(simulate, tmp_path, cases)


def summed(arithmetic, a_kind, target):
    """A case of ``check_together``: products with activations."""
    b_kind = "activation"
    count = 6
    a_format, b_format = getattr(arithmetic, a_kind), getattr(arithmetic, b_kind)
    sums = arithmetic.sum_shape(a_kind, b_kind, count=count)

    def build(m, ports):
        a, b, c = (ports[name] for name in ("a", "b", "c"))
        product = arithmetic.multiply(m, a, b, name="multiplied")
        value, saturated = arithmetic.requantize(
            m, c, a_kind, b_kind, kind=target, name="requantized"
        )
        total = arithmetic.add(m, c, ports["term"], name="added", shape=sums)
        wide = arithmetic.add(m, a, b, name="added_wide")
        key = arithmetic.order_key(a) < arithmetic.order_key(ports["other"])
        return dict(
            product=product, total=total, wide=wide, value=value, saturated=saturated, less=key
        )

    product_width = a_format.width + b_format.width
    unit = FreeRunning(
        dict(
            a=a_format.shape,
            b=b_format.shape,
            c=sums,
            term=signed_shape(product_width - 1),
            other=a_format.shape,
        ),
        dict(
            product=signed_shape(product_width),
            total=sums,
            wide=signed_shape(max(a_format.width, b_format.width) + 1),
            value=arithmetic.shape(target),
            saturated=1,
            less=1,
        ),
        build,
    )
    rng = np.random.default_rng(2)
    a, b = (operands(format, rng, 300) for format in (a_format, b_format))
    other = rng.permutation(a)
    # Sums up to the most that sum_shape promises, and around the limits of the result.
    source = SQ(
        sums.width - arithmetic.fraction(a_kind, b_kind), arithmetic.fraction(a_kind, b_kind)
    )
    most = count * a_format.low * b_format.low
    assert most <= source.high and source.width == sums.width
    format = getattr(arithmetic, target)
    shift = source.fraction - format.fraction
    unit_step = 1 << max(shift, 0)
    ends = [
        (raw << shift if shift > 0 else raw >> -shift) + half
        for raw in (format.low, format.high, format.high + 1, 0, -1)
        for half in (-unit_step // 2, -unit_step // 2 - 1, 0, unit_step // 2, unit_step // 2 - 1)
    ]
    ends += [most, -most, source.low, source.high]
    c = rng.integers(source.low, source.high, 300) >> rng.integers(0, sums.width, 300)
    c[: len(ends)] = np.clip(ends, source.low, source.high)
    low = -(1 << (product_width - 2))
    term = np.clip(a.astype(np.int64) * b, low, -low - 1)
    term = np.where((c + term > source.high) | (c + term < source.low), 0, term)
    value, saturated = requantize(c, source.fraction, format)
    assert saturated.any() and not saturated.all()
    latencies = arithmetic.multiply_latency, arithmetic.add_latency, arithmetic.requantize_latency
    assert latencies == (2, 1, 2) and arithmetic.zero == 0
    return (
        unit,
        dict(a=a, b=b, c=c, term=term, other=other),
        dict(
            product=a * b,
            total=c + term,
            wide=a + b,
            value=value,
            saturated=saturated,
            less=a < other,
        ),
        dict(product=2, total=1, wide=1, value=2, saturated=2, less=0),
    )


def signed_shape(width):
    return SQ(width, 0).shape


def operands(format, rng, rows):
    """Limits with limits first, then any."""
    ends = np.array([format.low, format.low + 1, -1, 0, 1, format.high])
    return np.concatenate(
        [rng.choice(ends, 40), rng.integers(format.low, format.high + 1, rows - 40)]
    )


@pytest.mark.long  # yosys: a third of the folder's time
def test_dsp_blocks_of_multiply_accumulates():
    """One a product in fixed point, be it of the widest formats; two in binary32."""
    cases = {
        "weights": (FIXED, "weight", 1),
        "gradients": (FIXED, "gradient", 1),
        "floats": (FLOAT, "weight", 2),
    }
    inputs, outputs = {}, {}
    for name, (arithmetic, kind, _) in cases.items():
        outputs[name] = arithmetic.sum_shape(kind, "activation", count=512)
        inputs[f"{name}_a"], inputs[f"{name}_b"] = map(arithmetic.shape, (kind, "activation"))
        inputs[f"{name}_c"] = outputs[name]

    def build(m, ports):
        totals = {}
        for name, (arithmetic, _, _) in cases.items():
            a, b, c = (ports[f"{name}_{operand}"] for operand in "abc")
            product = arithmetic.multiply(m, a, b, name=f"{name}_product")
            totals[name] = arithmetic.add(m, product, c, name=f"{name}_total", shape=outputs[name])
        return totals

    expected = sum(dsp for _, _, dsp in cases.values())
    assert dsp_blocks(FreeRunning(inputs, outputs, build)) == expected
