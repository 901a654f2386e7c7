"""result_writer: the sum of the values of the largest batch, at both ends of a value."""

import numpy as np
import pytest
from clocks import Clocks
from later import later

from hw.fixar.aap.aap import PSUM_WIDTH
from hw.fixar.aap.result_writer import ResultWriter
from hw.fixar.aap.schedule import Schedule
from hw.fixar.array.accumulators import Accumulators
from hw.fixar.config import CELL_WIDTH, FixarConfig
from hw.fixar.layouts import Layouts
from hw.fixar.numbers.round_and_encode import RoundAndEncode
from hw.fixar.numbers.rounding import LARGEST_SHIFT
from hw.fixar.plan import Kind, Result

#: As many samples as a core may ever have.
CONFIG = FixarConfig(observation=2, action=1, hidden=(4,), batch=1024, cores=1, side=4)
LOW, HIGH = -1 << CELL_WIDTH - 1, (1 << CELL_WIDTH - 1) - 1
#: From a word of sums: its numbers, both samples of it together, the sum.
LATENCY = RoundAndEncode.VALUE_LATENCY + 2


def batches(rng):
    """Values of all samples, and which of them exist."""
    there = np.ones(CONFIG.batch, bool)
    yield np.full(CONFIG.batch, LOW), there
    yield np.full(CONFIG.batch, HIGH), there
    yield rng.integers(LOW, HIGH + 1, 100), rng.random(100) < 0.9


@pytest.mark.parametrize("half", [later(0, id="full"), pytest.param(1, id="half")])
def test_value_sum(simulate, tmp_path, half):
    """Of a word a sample, or two; with pauses in the last batch."""
    rng, layouts, clocks = np.random.default_rng(1), Layouts(CONFIG), Clocks()
    schedule = Schedule(CONFIG, layouts)
    accumulators = Accumulators(CONFIG.side, depth=layouts.index.stop, width=PSUM_WIDTH)
    sums = accumulators.signature.members["o"].shape
    unit = ResultWriter(CONFIG, layouts, schedule, sums)
    # A product has the operands' fraction; codes lie up to 16 places above.
    shift = LARGEST_SHIFT * half
    places, mask = CONFIG.arithmetic.operand.fraction - shift, (1 << PSUM_WIDTH) - 1
    steady = dict(kind=Kind.FW, result=Result.VALUE, half_x=half, shift=shift)
    for number, (values, there) in enumerate(batches(rng)):
        clocks.add(pass_=steady, clear=1)
        words = zip(values.reshape(-1, 1 + half).tolist(), there.reshape(-1, 1 + half), strict=True)
        for word, exist in words:
            while number == 2 and rng.random() < 0.2:
                clocks.add(pass_=steady)
            raw = [value << places for value in word]
            lane = raw[0] & mask | (raw[1] & mask) << PSUM_WIDTH if half else raw[0]
            keep = sum(int(exists) << k for k, exists in enumerate(exist))
            clock = clocks.add(
                pass_=steady, sums=dict(valid=1, word=[lane]), result=dict(keep=keep)
            )
        for _ in range(LATENCY):
            clocks.add(pass_=steady)
        clocks.expect(clock + LATENCY, value_sum=int(values[there].sum()))
    clocks.run(simulate, unit, tmp_path)
