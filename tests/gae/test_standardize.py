"""hw.gae.standardize against its formula in exact fractions, whatever stalls."""

import random

import numpy as np
import pytest
from gae.naive import LIMITS, naive_code, naive_number
from gae.paced import Paced
from gae.slots import SPECIAL, bits, packed
from paces import PACES

from hw.gae.config import GaeConfig
from hw.gae.standardize import SCALE, Standardize

LANES = 2
NUMBER_WIDTH, PRODUCT_WIDTH = 27, 54
FACTOR_LIMIT = (1 << 26) - 1

#: Fields of a scale at their ends.
CORNERS = dict(
    exponent=(-256, -150, -127, -1, 0, 1, 26, 126, 150, 255),
    mean=(LIMITS[0], -1, 0, 1, LIMITS[1]),
    factor=(0, 1, (1 << 17) - 1, 1 << 17, FACTOR_LIMIT),
)


def scales(rng):
    """Every shift, with corners and with what fits it: pairs for rewards and for values."""
    for shift in range(1, 54):
        pair = []
        for _ in range(2):
            bits = rng.randint(1, 26)
            fields = dict(
                exponent=rng.randint(-20, 40),
                mean=rng.randint(*LIMITS) >> rng.randint(0, 26),
                factor=rng.choice([1 << bits - 1, rng.randint(1 << bits - 1, (1 << bits) - 1)]),
                shift=shift,
            )
            for name, corners in CORNERS.items():
                if rng.random() < 0.25:
                    fields[name] = rng.choice(corners)
            pair.append(fields)
            shift = rng.randint(1, 53)
        yield pair


def numbers(scale, limit, rng):
    """A float32: special; beside a tie of ``x``, or a limit; of a code beside a tie, or a limit."""
    if rng.random() < 0.2:
        return np.float32(rng.choice([*SPECIAL, np.inf, -np.inf, np.nan]))
    if rng.random() < 0.3:
        x = rng.choice([*LIMITS, 0, rng.randint(-9999, 9999), rng.randint(*LIMITS)])
    else:
        code = rng.choice([0, 1, -1, limit, -limit, rng.randint(-limit, limit)])
        x = scale["mean"] + ((2 * code + rng.choice([-1, 0, 1])) << scale["shift"] - 1) / max(
            1, scale["factor"]
        )
        x = round(max(-(2.0**30), min(2.0**30, x)))
    x = x + rng.choice([-1, -0.5, 0, 0, 0, 0, 0.5, 1])
    with np.errstate(over="ignore", under="ignore"):
        return np.float32(np.ldexp(x, -scale["exponent"]))


class Beats:
    """Clocks of ``Standardize``, and what its formula gives; ``seen`` counts what came."""

    def __init__(self, config):
        self.config, self.limit, self.width = config, config.code_limit, config.code_width
        self.clocks, self.rng = Paced(), random.Random(config.code_width)
        self.seen = dict.fromkeys(("ordinary", "clipped", "invalid"), 0)
        # So that all stages are full before the first stall.
        self.clocks.drain(Standardize.LATENCY)

    def segment(self, rewards, values, squares, pace, count=6):
        """Beats with scales and bits of a code that stay, until the last has left."""
        self.limit = self.config.limit_of(
            self.rng.choice([0, *range(3, self.config.most_code_bits + 1)])
        )
        self.clocks.steady = dict(
            rewards_scale=SCALE.const(rewards).as_value().value,
            values_scale=SCALE.const(values).as_value().value,
            squares=squares,
            limit=self.limit,
        )
        self.clocks.set_pace(pace)
        for _ in range(count):
            plane = self.rng.randrange(2)
            scale = (rewards, values)[plane]
            beat = [numbers(scale, self.limit, self.rng) for _ in range(LANES)]
            counts = [self.rng.random() < 0.9 for _ in range(LANES)]
            self._beat(scale, beat, counts, plane, squares)
        self.clocks.drain(Standardize.LATENCY)

    def _beat(self, scale, beat, counts, plane, squares):
        invalid = [not np.isfinite(x) and counted for x, counted in zip(beat, counts, strict=True)]
        move = self.clocks.move(
            i=packed(np.array(beat).view(np.uint32), 32), counts=bits(counts), values=plane
        )
        self.clocks.after(move, 0, invalid=bits(invalid))
        self.seen["invalid"] += sum(invalid)
        if any(invalid):
            return  # nothing says what else these numbers give
        results = [
            self._result(scale, number, squares) if counted else (0, 0, 0, False)
            for number, counted in zip(beat, counts, strict=True)
        ]
        x, products, codes, clipped = zip(*results, strict=True)
        after = self.clocks.after
        after(move, Standardize.X_LATENCY, x=packed(x, NUMBER_WIDTH))
        if squares or all(counts):
            after(move, Standardize.PRODUCT_LATENCY, products=packed(products, PRODUCT_WIDTH))
        after(move, Standardize.LATENCY, codes=packed(codes, self.width), clipped=bits(clipped))
        self.seen["clipped"] += sum(clipped)
        self.seen["ordinary"] += sum(1 < abs(code) < self.limit for code in codes)

    def _result(self, scale, number, squares):
        """``x``, product, code, whether clipped, of one number."""
        x, clipped = naive_number(number, scale["exponent"])
        mean, factor = (0, x) if squares else (scale["mean"], scale["factor"])
        code, code_clipped = naive_code(
            number, scale["exponent"], mean, factor, scale["shift"], self.limit
        )
        return x, (x - mean) * factor, code, clipped if squares else code_clipped


@pytest.mark.parametrize("code_width", [8, 16, 32])
def test_formula(simulate, tmp_path, code_width):
    """Every shift, rewards and values in turn; as squares, and as codes, at each pace."""
    config = GaeConfig(code_width=code_width)
    beats = Beats(config)
    for k, (rewards, values) in enumerate(scales(beats.rng)):
        beats.segment(rewards, values, squares=k % 5 == 4, pace=PACES[k % 3])
    assert min(beats.seen.values()) > 20, beats.seen
    beats.clocks.run(simulate, Standardize(config, LANES), tmp_path)
