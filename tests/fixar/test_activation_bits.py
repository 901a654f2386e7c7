"""Codes of activations with 8 to 16 bits: twin, torch and plan against exact integers."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fixar.kernels import SMALL, precision_of
from fixar.test_runtime import buffer  # noqa: F401, a fixture

from host.fixar.fake_quantization import coded
from host.fixar.fixar_ddpg import FixarDDPGConfig
from host.fixar.fixar_learner import PrecisionSwitch
from host.fixar.precision_plan import shift_of
from hw.fixar.precision import Precision, code_limits
from sim.model.fixar.numbers import encode

BITS = range(8, 17)


def code_of(number, shift, bits, signed):
    """The code of an integer, rounded half up, and whether it was clipped."""
    places = shift + 16 - bits
    code = (2 * number + (1 << places) >> places + 1) << 16 - bits
    low, high = (-(1 << 15), (1 << 15)) if signed else (0, 1 << 16)
    inside = min(max(code, low), high - (1 << 16 - bits))
    return inside, inside != code


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("signed", [False, True])
def test_twin_and_torch(bits, signed):
    rng, clips = np.random.default_rng(bits), 0
    for shift in (0, 1, 7, 16):
        numbers = rng.integers(-(1 << 14 + shift) if signed else 0, 1 << 15 + shift, 200)
        step = 1 << shift + 16 - bits
        edges = rng.integers(0, 1 << bits, 100) * step + step // 2 - rng.integers(0, 2, 100)
        ends = [0, 1, (1 << 31) - 1, *([-1, -step // 2, -step // 2 - 1, -(1 << 31)] * signed)]
        values = np.concatenate([numbers, edges, ends]).astype(np.float64)[None]
        cells, clipped = encode(values, True, shift, signed, bits)
        expected = [code_of(int(v), shift, bits, signed) for v in values[0]]
        assert cells.words[0].tolist() == [code for code, _ in expected]
        assert clipped == sum(beyond for _, beyond in expected)
        clips += clipped
        found = coded(torch.from_numpy(values), shift, signed=signed, bits=bits)
        assert found[0].tolist() == [code * 2**shift for code, _ in expected]
    assert clips


@pytest.mark.parametrize("bits", BITS)
def test_a_plan_has_the_smallest_shift_that_clips_nothing(bits):
    rng = np.random.default_rng(bits)
    for signed in (False, True):
        least, most = code_limits(signed, bits)
        for _ in range(50):
            high = int(rng.integers(1 << int(rng.integers(1, 31))))
            low = -int(rng.integers(high + 1)) if signed else 0
            shift = shift_of(low, high, 32, signed=signed, bits=bits)
            clips = [
                any(code_of(end, each, bits, signed)[1] for end in (low, high))
                for each in (shift, shift - 1)
                if each >= 0
            ]
            assert not clips[0] or shift == 16
            assert clips[1:] in ([], [True])
        assert (most + 1) % (1 << 16 - bits) in (0, 1) and least in (0, -(1 << 15))


@pytest.mark.parametrize("bits", [7, 17, 0, 8.0, True])
def test_bits_that_no_code_has(bits):
    with pytest.raises(ValueError, match=r"^activation_bits must be an integer in 8\.\.16, not "):
        Precision(activations=True, activation_bits=bits)


@pytest.mark.parametrize("precision", ["float32", "fixed32"])
def test_bits_of_an_agent_without_codes(precision):
    words = f"^activation_bits must be 16 with precision {precision}, not 8$"
    with pytest.raises(ValueError, match=words):
        FixarDDPGConfig(precision=precision, activation_bits=8)


def test_fewer_bits_are_coarser(buffer):  # noqa: F811
    seen, errors = np.random.default_rng(1).normal(size=(50, 3)), {}
    full = buffer.act(seen)
    for bits in (8, 10, 12, 16):
        buffer.set_precision(
            precision_of(SMALL, "half", frame=9, activation=8, activation_bits=bits)
        )
        assert buffer.precision.activation_bits == bits
        errors[bits] = np.abs(buffer.act(seen) - full).mean()
    assert errors[8] > 2 * errors[10] > 4 * errors[12] > 4 * errors[16] > 0


def test_a_run_sets_the_bits_of_its_agent(buffer):  # noqa: F811
    agent = FixarDDPGConfig(precision="fixed16_static", activation_bits=9, hidden=(6, 4))
    PrecisionSwitch(buffer, agent)(SimpleNamespace(steps=0))
    assert buffer.precision.activations and buffer.precision.activation_bits == 9
