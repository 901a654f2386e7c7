"""The limited norm of a gradient: the twin against torch in float64, and hardware against the
twin."""

import numpy as np
import pytest
from amaranth.sim import Simulator
from clocks import Clocks, run_together

from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.learner.config import LearnerConfig
from hw.learner.network.gradient_norm import GradientNorm
from hw.learner.network.update_control import UpdateControl
from hw.learner.parameters.square_sum import square_shape
from sim.model.arith.float32 import add
from sim.model.learner.parameters.gradient_norm import limited, limited_scale, of_integer, squares

FIXED, FLOAT = Arithmetic(kind="fixed"), Arithmetic(kind="float32")
#: The widest squares have more than the 62 bits that become a number at once, twice.
WIDE = Arithmetic(kind="fixed", activation=SQ(18, 0), gradient=SQ(18, 0))
#: Relative error of a limited scale.
BOUNDS = {FIXED: 2.0**-15, FLOAT: 1e-6}


def learner(arithmetic, **options):
    sizes = dict(observation=4, action=2, hidden=(12, 7), batch=64, multipliers=8, update_units=4)
    return LearnerConfig(arithmetic=arithmetic, clip_norm=True, **sizes | options)


def gradients(config, rng, size):
    """Sums of a batch's gradients, normal numbers times ``size``, some of them 0; and the same as
    a float64 vector."""
    found, unit = [], 2.0**-config.arithmetic.gradient_sum_fraction
    for layer in config.networks["q"]:
        pair = [rng.normal(size=(layer.outputs, layer.inputs)), rng.normal(size=layer.outputs)]
        pair = [np.where(rng.random(x.shape) < 0.2, 0, size * x) for x in pair]
        if config.arithmetic.saturates:
            pair = [np.round(x / unit).astype(np.int64) for x in pair]
        else:
            pair = [x.astype(np.float32) for x in pair]
        found.append(tuple(pair))
    flat = np.concatenate([np.ravel(x) for pair in found for x in pair]).astype(np.float64)
    return found, flat * (unit if config.arithmetic.saturates else 1)


@pytest.mark.parametrize("arithmetic", BOUNDS, ids=lambda each: each.kind)
def test_it_is_the_norm_of_torch(arithmetic):
    torch = pytest.importorskip("torch")
    config, rng, scaled_down = learner(arithmetic), np.random.default_rng(0), 0
    for size in (1e-2, 0.3, 5, 900):
        found, flat = gradients(config, rng, size)
        for most in (1e-2, 0.5, 10, np.inf):
            parameter = torch.nn.Parameter(torch.zeros(len(flat), dtype=torch.float64))
            parameter.grad = torch.from_numpy(flat / 64)
            torch.nn.utils.clip_grad_norm_([parameter], most)
            wanted = np.linalg.norm(parameter.grad.numpy()) / np.linalg.norm(flat)
            scale = limited_scale(
                config, config.networks["q"], found, np.float32(1 / 64), np.float32(most)
            )
            assert scale == pytest.approx(wanted, rel=BOUNDS[arithmetic])
            scaled_down += scale < 1 / 64
    assert scaled_down == 6, "some are limited, some are not"


def test_in_fixed_point_words_and_parts_change_nothing():
    found = set()
    for options in ({}, dict(update_units=1), dict(words=(4, 5, 2, 1), update_units=16)):
        config = learner(FIXED, **options)
        values, _ = gradients(config, np.random.default_rng(1), 3)
        found.add(squares(config, config.networks["q"], values, np.float32(1)))
    assert len(found) == 1


@pytest.mark.parametrize("value", [0.0, np.inf, np.nan])
def test_a_sum_that_is_no_usual_number(value):
    """Nothing is limited, or nothing is left."""
    config, scale = learner(FLOAT), np.float32(0.5)
    limit = limited(config, np.float32(value), scale, np.float32(1))
    assert limit == (0 if value == np.inf else scale)


def units(arithmetic, layers):
    """A case of ``run_together``: corners, then random sums; ``complete`` falls and rises. Binary32
    has two layers."""
    config = learner(arithmetic)
    rng = np.random.default_rng(layers)
    shape = square_shape(config.layer_config)
    unit = GradientNorm(config.layer_config, shape, layers)
    clocks, cases = Clocks(), [(0, 1.0, 1.0), (1, 0.5, 1e-6)]
    if arithmetic.saturates:
        ends = [1, (1 << 62) // layers, (1 << 62) // layers + 1, (1 << shape.width) - 1]
        ends += [5 << place for place in range(65, shape.width - 3, 10)]
        cases += [(end, 1 / 64, 3.0) for end in ends]
        cases += [(1 << int(rng.integers(20, 60)), 1 / 32, 10.0) for _ in range(6)]
    else:
        words = np.array([0.0, np.inf, 1e-30, 3e38, *rng.uniform(0, 400, 6)], np.float32)
        cases = [(int(each.view(np.uint32)), 1 / 64, 5.0) for each in words]
    cases += [(cases[-1][0], 1 / 64, np.inf)]
    ready = GradientNorm.ready_of(arithmetic, layers)
    for total, *values in cases:
        scale, most = np.array(values, np.float32)
        totals = [total] * layers
        if arithmetic.saturates:
            square = of_integer(sum(totals))
        else:
            square = np.array(total, np.uint32).view(np.float32)
            square = np.float32(add(square, square))
        wanted = int(limited(config, square, scale, most).view(np.uint32))
        own = {f"totals__{k}": each for k, each in enumerate(totals)} | dict(
            scale=int(scale.view(np.uint32)),
            max_norm=int(most.view(np.uint32)),
        )
        clocks.add(clear=1, **own)
        clocks.expect(clocks.add(**own), limited=own["scale"], ready=0)
        for k in range(ready + 1):
            at = clocks.add(complete=1, **own)
            clocks.expect(at, ready=k == ready)
        clocks.expect(at, limited=wanted)
        # It stays while the layers are updated.
        clocks.expect(clocks.add(**own), limited=wanted, ready=0)
    return clocks, unit


def test_hardware_is_the_twin(simulate, tmp_path):
    cases = [(WIDE, 3), (FLOAT, 2)]
    run_together(simulate, tmp_path, {f"{a.kind} {n}": units(a, n) for a, n in cases})


def test_sums_of_more_than_62_bits_lose_their_last():
    """In units of 2^-32. Of a longer sum 31 bits are dropped, and what is left is rounded to even
    here; one of 62 bits is rounded up."""
    assert of_integer((1 << 61) + (1 << 37) + 1) == np.float32(2.0**29 * (1 + 2.0**-23))
    assert of_integer((1 << 62) + (1 << 38) + 1) == np.float32(2.0**30)


def test_sums_of_any_format_have_a_place():
    assert square_shape(learner(WIDE, batch=4096).layer_config).width == 126
    assert of_integer(7 << 120) == np.float32(7 * 2.0**88)


def test_each_network_has_a_scale_of_its_own():
    """Of td3, whose errors are shifted; before any norm is known."""
    sizes = dict(observation=3, action=1, hidden=(2,), batch=8)
    unit, found = UpdateControl(LearnerConfig(algorithm="td3", clip_norm=True, **sizes)), []
    scales = [0x3F80_0000, 0x4000_0000, 0x3E80_0000]

    async def bench(context):
        for port, scale in zip(unit.scales, scales, strict=True):
            context.set(port, scale)
        context.set(unit.clear, 1)
        await context.tick()
        found.extend(context.get(port) for port in unit.limited)

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert found == scales
