"""hw.nn.td_program: the bits of ``hw.nn.td_loss``, and of the formulas, a step at a time."""

import numpy as np
import pytest
from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from arith.float32_cases import CORNERS, bits, floats
from later import later
from nn.test_td_loss import (
    ACTIVATIONS,
    FIXED,
    FLOAT,
    NAMES,
    STATED,
    WILD,
    Timeline,
    formulas,
    of_rows,
    ordinary,
    quantized,
)

from hw.nn.td_loss import TdLoss, td_ports
from hw.nn.td_program import TdProgram
from sim.model.arith import float32
from sim.streams import StreamUnit

ALL = pytest.mark.parametrize("arithmetic", [later(FLOAT), FIXED], ids=["float32", "fixed"])


@ALL
def test_random_and_corners(simulate, tmp_path, arithmetic):
    """Batches of 1 to 13 samples: as close as they may come, and later; worked cases first."""
    timeline, interval = Timeline(arithmetic, kind=TdProgram), TdProgram.INTERVAL
    rows = [row for row, *_ in STATED + WILD * (not arithmetic.saturates)]
    timeline.batch(of_rows(rows[:1]), np.float32(1), np.float32(0.5), [interval])
    timeline.batch(of_rows(rows), np.float32(1), np.float32(0.5), [interval] * len(rows))
    rng = timeline.rng
    for count, share, clip in ((10, 0.2, np.inf), (3, 0.6, 0.25)):
        samples = ordinary(rng, count)
        for name, numbers in samples.items():
            wild = floats(rng.choice(CORNERS, count))
            samples[name] = np.where(rng.random(count) < share, wild, numbers)
        samples["weight"][::7] = 4 << arithmetic.gradient.integer
        gaps = interval + rng.integers(0, 2, count) * rng.integers(0, 9, count)
        timeline.batch(samples, np.float32(0.9), np.float32(clip), gaps)
    timeline.run(simulate, tmp_path)


def test_clocks():
    """Worked by hand: steps of two reads, an addition and a write; 19 of a sample, 7 a sum."""
    for arithmetic, quantize in ((FLOAT, 0), (FIXED, 3)):
        unit = TdProgram(arithmetic)
        assert unit.INTERVAL == unit.latency == 19 * 9 <= 200
        assert unit.td_latency == 7 * 9 and unit.gradient_latency == 12 * 9 + quantize
        assert unit.FOLD_LATENCY == 3 * 7 * 9 + 1


class Both(wiring.Component):
    """A batch of one sample a request, by the program and by the pipeline."""

    def __init__(self, arithmetic):
        self.arithmetic = arithmetic
        sample = td_ports(arithmetic)["i"].shape
        self.asked = data.StructLayout({"sample": sample, "inverse": 32, "clip": 32})
        result = {"td": 32, "gradient": arithmetic.shape("gradient"), "saturated": 1,
                  "loss": 32, "td_sum": 32, "value": 32}  # fmt: skip
        self.told = data.ArrayLayout(data.StructLayout(result), 2)
        super().__init__(
            {
                "request": In(stream.Signature(self.asked.size)),
                "response": Out(stream.Signature(self.told.size)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        asked, told = data.View(self.asked, self.request.payload), Signal(self.told)
        begins, left = Signal(), Signal(2)
        held, goes = Signal(self.asked), Signal()
        m.d.comb += [
            begins.eq(self.request.valid & self.request.ready),
            self.request.ready.eq((left == 0) & ~self.response.valid),
            self.response.payload.eq(told.as_value()),
        ]
        m.d.sync += goes.eq(begins)
        with m.If(begins):
            m.d.sync += [held.eq(asked), left.eq(3)]
        with m.If(self.response.ready):
            m.d.sync += self.response.valid.eq(0)
        for k, kind in enumerate((TdProgram, TdLoss)):
            m.submodules[kind.__name__] = unit = kind(self.arithmetic)
            m.d.comb += [
                unit.clear.eq(begins), unit.i.eq(held.sample), unit.i.valid.eq(goes),
                unit.inverse.eq(held.inverse), unit.clip.eq(held.clip), unit.fold.eq(unit.done),
            ]  # fmt: skip
            with m.If(unit.td.valid):
                m.d.sync += told[k].td.eq(unit.td.value)
            with m.If(unit.gradient.valid):
                gradient = [told[k].gradient, told[k].saturated]
                m.d.sync += [
                    to.eq(of)
                    for to, of in zip(
                        gradient, (unit.gradient.value, unit.gradient.saturated), strict=True
                    )
                ]
            with m.If(unit.folded):
                sums = unit.loss_sum, unit.td_sum, unit.value_sum
                m.d.sync += [
                    to.eq(of)
                    for to, of in zip(
                        (told[k].loss, told[k].td_sum, told[k].value), sums, strict=True
                    )
                ]
                m.d.sync += left[k].eq(0)
        with m.If((left == 0) & delayed(m, left != 0)):
            m.d.sync += self.response.valid.eq(1)
        return m


def delayed(m, value):
    before = Signal()
    m.d.sync += before.eq(value)
    return before


@pytest.mark.long
@pytest.mark.parametrize("arithmetic", [FLOAT, FIXED], ids=["float32", "fixed"])
def test_a_hundred_thousand_samples(arithmetic):
    """Any bits, corners and ordinary numbers: program, pipeline and formulas agree."""
    count, rng = 100_000, np.random.default_rng(9)
    samples = ordinary(rng, count)
    for name in samples:
        corner, wild = floats(rng.choice(CORNERS, count)), floats(rng.integers(1 << 32, size=count))
        chance = rng.random(count)
        samples[name] = np.select([chance < 0.1, chance < 0.2], [corner, wild], samples[name])
    inverse = floats(rng.choice([0x3F800000, 0x3F000001, 0x40490FDB, 0x7F800000], count))
    clip = floats(rng.choice([0x3F800000, 0x7F800000, 0x3E800000, 0], count))
    wide = dict(samples)
    if arithmetic.saturates:
        for name in ACTIVATIONS:
            raw, _ = quantized(arithmetic.activation, samples[name])
            samples[name], wide[name] = raw, (raw / 2**arithmetic.activation.fraction)
            wide[name] = wide[name].astype(np.float32)
    results = np.zeros((3, count), np.float32)
    operands = [wide[name] for name in NAMES if name != "value"]
    for one, limit in set(zip(bits(inverse).tolist(), bits(clip).tolist(), strict=True)):
        rows = (bits(inverse) == one) & (bits(clip) == limit)
        scalars = (*floats([one]), *floats([limit]))
        some = [operand[rows] for operand in operands]
        results[:, rows] = formulas(*some, *scalars, float32.multiply, float32.add)
    td, gradient, loss = results
    saturated = np.zeros(count, bool)
    if arithmetic.saturates:
        gradient, saturated = quantized(arithmetic.gradient, gradient)
    zero = np.zeros(count, np.float32)
    sums = [float32.add(zero, each) for each in (loss, np.abs(td), wide["value"])]
    assert np.isinf(td).sum() + np.isnan(td).sum() > count // 50
    wanted = [bits(x) if x.dtype == np.float32 else x
              for x in (td, gradient, saturated, *sums)]  # fmt: skip

    unit = Both(arithmetic)
    simulated = StreamUnit(unit, name=f"both_{arithmetic.kind}")
    sample = unit.asked["sample"].shape
    fields = [(sample[name], samples[name]) for name in NAMES]
    fields += [(unit.asked["inverse"], inverse), (unit.asked["clip"], clip)]
    asked = [1] * count  # valid
    for field, column in fields:
        column = bits(column) if column.dtype == np.float32 else column
        mask = (1 << field.width) - 1
        asked = [word | (int(each) & mask) << field.offset
                 for word, each in zip(asked, column, strict=True)]  # fmt: skip
    told, _ = simulated.run(asked)
    simulated.close()
    for k in range(2):
        for name, column in zip(("td", "gradient", "saturated", "loss", "td_sum", "value"), wanted,
                                strict=True):  # fmt: skip
            field = unit.told.elem_shape[name]
            mask = (1 << field.width) - 1
            got = np.array([word >> (k * unit.told.elem_shape.size + field.offset) & mask
                            for word in told])  # fmt: skip
            np.testing.assert_array_equal(got, np.asarray(column, np.int64) & mask, f"{k} {name}")
