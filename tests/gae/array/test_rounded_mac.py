"""rounded_mac and hw.gae.array.dequantize against integers of any size, clock by clock."""

import random
from itertools import product

import numpy as np
import pytest
from amaranth import Const, signed, unsigned
from arith.free_running import FreeRunning, check_together

from boards.area import synthesize
from hw.gae.array.dequantize import dequantize, dequantize_latency
from hw.gae.array.pe import PE
from hw.gae.array.rounded_mac import rounded_mac
from hw.gae.config import GaeConfig
from hw.gae.estimate import pe
from hw.verilog import to_verilog
from system.tools import BUILD_DIRECTORY


def blended(addend, coefficient, x, fraction, width):
    """``(value, wrapped)`` of Python integers."""
    total = addend + (coefficient * x + (1 << fraction - 1) >> fraction)
    value = (total + (1 << width - 1)) % (1 << width) - (1 << width - 1)
    return value, value != total


def numbers(rng, width, is_signed, count):
    """The limits and their neighbours, small numbers, and any."""
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if is_signed else (0, (1 << width) - 1)
    corners = [low, low + 1, 0, 1, max(low, -1), high - 1, high]
    return [rng.choice([rng.choice(corners), rng.randint(low, high)]) for _ in range(count)]


#: word, bits of the coefficient, fraction, bits and sign of x
SHAPES = [
    (27, 17, 16, 27, True),
    (35, 26, 25, 35, True),
    (27, 26, 16, 8, True),
    (9, 4, 2, 17, True),
]


def test_blend(simulate, tmp_path):
    each = product((1, 2, 3), SHAPES)
    check_together(simulate, tmp_path, {str(case): blend(*case) for case in each})


def blend(clocks, widths):
    """A case of ``check_together``."""
    word, coefficient, fraction, x_width, x_signed = widths
    shape = signed(word)
    unit = FreeRunning(
        dict(addend=signed(word + 1), coefficient=unsigned(coefficient), x=signed(x_width)),
        dict(value=shape, wrapped=unsigned(1)),
        lambda m, i: dict(
            zip(
                ("value", "wrapped"),
                rounded_mac(m, **i, clocks=clocks, shape=shape, fraction=fraction, name="unit"),
                strict=True,
            )
        ),
    )
    rng, count = random.Random(clocks), 1000
    inputs = dict(
        addend=numbers(rng, word + 1, True, count),
        coefficient=numbers(rng, coefficient, False, count),
        x=numbers(rng, x_width, x_signed, count),
    )
    wanted = [blended(*each, fraction, word) for each in zip(*inputs.values(), strict=True)]
    value, wrapped = zip(*wanted, strict=True)
    assert 0 < sum(wrapped) < count
    latency = dict(value=clocks, wrapped=clocks)
    arrays = {name: np.array(each, dtype=object) for name, each in inputs.items()}
    return unit, arrays, dict(value=value, wrapped=wrapped), latency


def test_load(simulate, tmp_path):
    """A mean and a scale of the whole formats; words pass as they are."""
    each = product((1, 3), (8, 16, 32))
    check_together(simulate, tmp_path, {str(case): loaded(*case) for case in each})


def loaded(lookahead, code_width):
    """A case of ``check_together``."""
    config = GaeConfig(code_width=code_width, lookahead=lookahead)
    word, rng, count = config.word, random.Random(1), 1000
    scale, mean = config.scale.high - 5, word.high >> 1
    code = numbers(rng, code_width, True, count)
    unit = FreeRunning(
        dict(code=signed(code_width)),
        dict(word=signed(32) if code_width == 32 else word.shape, wrapped=unsigned(1)),
        lambda m, i: dict(
            zip(
                ("word", "wrapped"),
                dequantize(
                    m,
                    config,
                    i["code"],
                    Const(scale, config.scale.shape),
                    Const(mean, word.shape),
                    name="unit",
                ),
                strict=True,
            )
        ),
    )
    wanted = [
        (each, 0) if code_width == 32 else blended(mean, scale, each, 16, word.width)
        for each in code
    ]
    values, wrapped = zip(*wanted, strict=True)
    latency = dict.fromkeys(("word", "wrapped"), dequantize_latency(config))
    return unit, dict(code=code), dict(word=values, wrapped=wrapped), latency


def mapped(config):
    text = to_verilog(PE(config), name="pe")
    return synthesize(text, "pe", work=BUILD_DIRECTORY / "area", family="xcup_dsp")


@pytest.mark.long
def test_one_dsp_block_each():
    """Loaders, delta, the step ahead and the loop are five blends: five DSP48E2, adders and all."""
    config = GaeConfig(lookahead=2)
    area = mapped(config)
    assert area["dsp"] == pe(config).dsp == 5
    # HEPPO, Table IV: 64 PEs.
    assert 64 * area["lut"] <= 12_864 and 64 * area["ff"] <= 54_336


@pytest.mark.long
@pytest.mark.parametrize("lookahead", [1, 2, 3])
@pytest.mark.parametrize("code_width", [8, 16, 32])
def test_dsp_blocks_are_as_estimated(lookahead, code_width):
    config = GaeConfig(lookahead=lookahead, code_width=code_width, result_width=code_width)
    assert mapped(config)["dsp"] == pe(config).dsp
