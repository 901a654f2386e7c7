"""hw.nn.fixed_optimizer: hardware against the twin, bit for bit; its area."""

import json

import numpy as np
import pytest
from arith.float32_cases import bits, floats
from hypothesis import given, settings
from hypothesis import strategies as st
from later import crossed
from nn.optimizer_cases import DUAL, Case, normals, patterns, raw_gradients, values
from nn.optimizer_cases import given as given_coefficients
from packed import packed

from boards.area import synthesize
from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.nn import estimate
from hw.nn.fixed_coefficients import FIXED_COEFFICIENTS
from hw.nn.fixed_optimizer import FixedOptimizer
from hw.nn.optimizer_config import OPTIMIZERS
from hw.verilog import to_verilog
from sim.model.nn.optimizer import update
from system.tools import BUILD_DIRECTORY

#: Sums of 42 bits, of 24, which a gradient's mantissa holds, and of 48, the most there are; and
#: weights of 32 bits.
LEARNERS = {
    "usual": dict(arithmetic=Arithmetic(kind="fixed"), batch=64),
    "narrow": dict(
        arithmetic=Arithmetic(
            kind="fixed", weight=SQ(2, 8), activation=SQ(3, 5), gradient=SQ(2, 8)
        ),
        batch=16,
    ),
    "wide": dict(
        arithmetic=Arithmetic(
            kind="fixed", weight=SQ(1, 26), activation=SQ(1, 17), gradient=SQ(18, 0)
        ),
        batch=4096,
    ),
    "dual": dict(arithmetic=DUAL),
}
#: Steps that are ordinary, large, without memory, hardly without, and with next to no divisor.
STEPS = [
    values(),
    values(scale=1, rate=2, floor=0, blend=1),
    values(first_decay=0, second_decay=0, second_gain=1, first_gain=1, floor=1e-2, blend=0.25),
    values(first_decay=0.1, second_decay=0.5, scale=3.7, rate=1e-3, blend=0),
    values(first_decay=1, second_decay=1, first_gain=0, second_gain=0, floor=1e-38, rate=1e-30),
    values(first_decay=0.9999, second_decay=0.9999, scale=1e30, rate=1e30, floor=1e30),
]


def at_the_limits(case, c, gradient, weight, target, first, second):
    """``weight``, of which some land on a limit and some one beyond; how far beyond, or 2: any."""
    limits = case.arithmetic.weight
    step = -update(case, c, gradient, 0 * weight, target, first, second).weight
    beyond = np.arange(len(weight)) % 3
    start = step + np.where(step < 0, limits.high + beyond, limits.low - beyond)
    fits = (abs(step) < limits.high) & (step != 0) & (beyond < 2)
    fits &= (limits.low <= start) & (start <= limits.high)
    return np.where(fits, start, weight), np.where(fits, beyond, 2)


def ports_of(case, c, gradient, weight, target, first, second):
    """Inputs and the twin's outputs by port; integers for JSON."""
    new = update(case, c, gradient, weight, target, first, second)
    alone = zip(gradient, weight, target, first, second, strict=True)
    ports = dict(
        step=f"{packed(FIXED_COEFFICIENTS, given_coefficients(case, c))[0]:x}",
        saturated=[update(case, c, *(np.array([x]) for x in one)).saturations for one in alone],
    )
    assert sum(ports["saturated"]) == new.saturations
    for name in ("first", "second"):
        if getattr(new, name) is not None:
            ports[f"new_{name}"] = bits(getattr(new, name)).tolist()
    widths = {"gradient": case.sum_shape.width}
    numbers = dict(gradient=gradient, weight=weight, target=target)
    numbers |= dict(new_weight=new.weight, new_target=new.target)
    for name, array in numbers.items():
        mask = (1 << widths.get(name, case.arithmetic.weight.width)) - 1
        ports[name] = [int(x) & mask for x in array]
    return ports | dict(first=bits(first).tolist(), second=bits(second).tolist())


def least(rng, count):
    """The smallest that there are, and those that are lost when they decay."""
    words = rng.integers(0, 5, count) << 23 | rng.choice([0, 0, 1, (1 << 23) - 1], count)
    return floats((words | rng.integers(0, 2, count) << 31).astype(np.uint32))


def batch(case, c, rng, count, numbers):
    limits = case.arithmetic.weight
    gradient = raw_gradients(rng, count, case.sum_shape.width)
    if numbers is least:
        gradient[:] = 0
    first, second = numbers(rng, count), numbers(rng, count)
    for moment in (first, second):
        moment[rng.random(count) < 0.05] = 0
    weight, target = rng.integers(limits.low, limits.high + 1, (2, count))
    weight, beyond = at_the_limits(case, c, gradient, weight, target, first, second)
    ports = ports_of(case, c, gradient, weight, target, first, second)
    # On the limit is not clipped, one beyond is.
    landed = zip(beyond, ports["saturated"], strict=True)
    return ports, {(int(far), clipped) for far, clipped in landed if far < 2}


def run(simulate, tmp_path, case, batches):
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(batches))
    at = FixedOptimizer.timing(case)
    outputs = {name: at.latency for name in ("new_weight", "new_target", "saturated")}
    outputs |= {name: at.moments for name in ("new_first", "new_second")}
    inputs = dict(gradient=0, first=0, second=0, weight=at.weights, target=at.weights)
    # Ports that this optimizer does not read are driven all the same.
    simulate(
        FixedOptimizer(case.config, case.sum_shape),
        "nn.optimizer_bench",
        vectors=str(file),
        inputs=inputs,
        outputs={name: clocks for name, clocks in outputs.items() if name in batches[0]},
    )


@pytest.mark.parametrize("optimizer, learner", crossed(OPTIMIZERS, list(LEARNERS)))
def test_hardware(simulate, tmp_path, optimizer, learner):
    """A parameter every clock, latencies as ``timing`` says."""
    case = Case(optimizer, **LEARNERS[learner])
    rng = np.random.default_rng(4)
    cases = [(c, normals) for c in STEPS] + [(STEPS[0], patterns), (STEPS[3], patterns)]
    cases += [(STEPS[0], least)]
    batches, landed = zip(*(batch(case, c, rng, 120, numbers) for c, numbers in cases), strict=True)
    assert set.union(*landed) == {(0, 0), (1, 1)}
    run(simulate, tmp_path, case, batches)


def test_hardware_by_hypothesis(simulate, tmp_path):
    """What hypothesis finds worth a try, in one simulation."""
    case = Case(**LEARNERS["usual"])
    limits, width = case.arithmetic.weight, case.sum_shape.width
    found = []
    raw = st.integers(limits.low, limits.high)
    word = st.integers(0, (1 << 32) - 1)
    gradient = st.integers(-(1 << (width - 1)), (1 << (width - 1)) - 1)

    @settings(max_examples=100, database=None, derandomize=True)
    @given(st.lists(st.tuples(gradient, raw, raw, word, word), min_size=1, max_size=8))
    def collect(parameters):
        found.extend(parameters)

    collect()
    columns = [np.array(column) for column in zip(*found, strict=True)]
    columns[3:] = [floats(column.astype(np.uint32)) for column in columns[3:]]
    run(simulate, tmp_path, case, [ports_of(case, STEPS[0], *columns)])


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_moments_never_pass_the_range(optimizer):
    """Whatever is gained, the largest word stays what it is: hardware and twin share the limit."""
    case, largest = Case(optimizer, **LEARNERS["usual"]), 0x7F7F_FFFF
    top = 1 << (case.sum_shape.width - 1)
    c = values(scale=1e30, first_decay=1, second_decay=1, first_gain=1e30, second_gain=1e30)
    gradient, zeros = np.array([-top, top - 1]), np.zeros(2, np.int64)
    moment = floats(np.array([largest] * 2, np.uint32))
    new = update(case, c, gradient, zeros, zeros, moment, moment)
    moments = [bits(word).tolist() for word in (new.first, new.second) if word is not None]
    assert moments == [[largest] * 2] * (1 + (optimizer == "adam"))


def test_sum_too_wide():
    case = Case()
    shape = type(case.sum_shape)(49, True)
    with pytest.raises(ValueError, match="^sum_shape must have at most 48 bits, not 49"):
        FixedOptimizer(case.config, shape)


#: optimizer -> LUT, FF as yosys maps it to UltraScale+.
AREA = {"adam": (1512, 1630), "rmsprop": (1093, 1224), "sgd": (916, 898)}


@pytest.mark.long
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_area(optimizer):
    """Within a tenth: yosys changes from version to version; DSP blocks to the one."""
    case = Case(optimizer, **LEARNERS["usual"])
    unit = FixedOptimizer(case.config, case.sum_shape)
    text = to_verilog(unit, name="unit")
    found = synthesize(text, "unit", work=BUILD_DIRECTORY / "area")
    need = estimate.optimizer(case.config)
    assert (found["dsp"], found["bram36"]) == (need.dsp, need.bram36)
    assert found["lut"] <= 1800
    for resource, expected in zip(("lut", "ff"), AREA[optimizer], strict=True):
        assert found[resource] == pytest.approx(expected, rel=0.1)
