"""``estimate`` on card ``model`` computes from arrays what programs give, to the byte and the state
of the estimator, and leaves to programs what it cannot tell."""

import numpy as np
import pytest
from gae.gae_programs import kernel_config
from gae.reference import rollout
from replay.kernels import opened

from host.advantages.estimator import AdvantageEstimator
from host.advantages.standardization import Standardization
from hw.errors import UsageError
from sim.model.gae import rollout as rollout_twin
from sim.model.gae.intake import intake

_WIDTHS = [(code, result) for code in (8, 16, 32) for result in (8, 16, 32)]
_WAYS = [
    dict(rewards=rewards, values=values)
    for rewards in ("raw", "dynamic", "block", "restored")
    for values in ("raw", "restored")
]


def _both(kernel, **ways):
    """Two estimators of a kernel, the second by programs."""
    ways = Standardization(**ways)
    return [AdvantageEstimator(kernel, ways, by_programs=by) for by in (False, True)]


def _equal(estimators, arrays, **discounts):
    """Asserts equal results of both and returns them; the first does not launch unless it must."""
    ours, programs = estimators
    before = programs.launcher.launches
    found, wanted = (each.estimate(*arrays, **discounts) for each in (ours, programs))
    assert programs.launcher.launches > before
    for one, other in zip(found[:2], wanted[:2], strict=True):
        assert one.dtype == other.dtype == np.float32
        assert one.shape == other.shape and one.tobytes() == other.tobytes()
    assert found.statistics == wanted.statistics
    assert ours.state_dict() == programs.state_dict()
    return found


def _numbers(rng, steps, environments, scale):
    """A rollout whose numbers are about ``scale``, with zeros and subnormal numbers."""
    ends = float(rng.choice([0, 0.02, 0.3, 1]))
    arrays = list(rollout(rng, steps, environments, ends=ends, scale=scale))
    for k in (0, 1, 4):
        array = arrays[k].reshape(-1)
        some = rng.random(array.size) < rng.choice([0, 0.1])
        array[some] = rng.choice(np.float32([0, -0.0, 1e-40, -1e-40, array[0], 8 * array[0]]))
    if rng.random() < 0.1:
        arrays[0][:] = arrays[0][0, 0]  # all alike: the deviation is 0
    return arrays


@pytest.mark.parametrize("code_width, result_width", _WIDTHS)
@pytest.mark.parametrize("lookahead", [1, 2, 3])
def test_arrays_equal_programs(code_width, result_width, lookahead):
    """Several rollouts one after another, whose running sums and peaks meet."""
    rng = np.random.default_rng(100 * code_width + result_width + lookahead)
    config = kernel_config(
        rows=7, depth=32, code_width=code_width, result_width=result_width, lookahead=lookahead
    )
    with opened("model", config) as kernel:
        for ways in _WAYS:
            bits = rng.choice([None, 3, code_width]) if code_width < 32 else None
            estimators = _both(kernel, **ways, code_bits=bits and int(bits))
            largest = int(rng.integers(-30, 30))
            for _ in range(4):
                scale = 2.0 ** (largest + rng.integers(-2, 4))
                steps, environments = int(rng.integers(1, 17)), int(rng.integers(1, 17))
                discounts = rng.choice([0, 0.5, 0.99, 1, rng.random()], 2)
                _equal(
                    estimators,
                    _numbers(rng, steps, environments, scale),
                    gamma=float(discounts[0]),
                    gae_lambda=float(discounts[1]),
                )


@pytest.mark.parametrize("shift", range(1, 54))
def test_codes_are_exact(shift):
    """In float64, at the largest differences and factors, where integers need 54 bits."""
    rng = np.random.default_rng(shift)
    high = 1 << 26
    numbers = np.float32([-high, 1 - high, 16 - high, 0, 1, high - 2, high, 2 * high, -4 * high])
    numbers = np.concatenate((numbers, rng.integers(-high, high, 200).astype(np.float32)))
    for factor in (1 << 25, (1 << 26) - 1, (1 << 26) - 2, int(rng.integers(1 << 25, 1 << 26))):
        for mean in (-high, high - 1, 0, int(rng.integers(-high, high))):
            for limit in (3, 127, (1 << 31) - 1):
                line = 0, mean, factor, shift, limit, -1, 0
                found, wanted = np.zeros((2, numbers.size), np.int64)
                clipped, marks = rollout_twin._words(numbers, line, 16, 35, found)
                once = numbers.reshape(1, -1), np.ones((1, numbers.size), bool)
                clips = intake._standardize(
                    *once, 1.0, mean, factor, shift, limit, wanted.reshape(1, -1)
                )
                assert (found == wanted).all() and clipped == clips and not marks


@pytest.mark.parametrize("environments", [1, 3, 64, 700])
@pytest.mark.parametrize("lookahead", [1, 2, 3])
def test_rollouts_of_several_blocks(environments, lookahead):
    """Longer than a block of the compiled pass, which begins anew in it; nothing is launched."""
    rng = np.random.default_rng(environments)
    config = kernel_config(rows=64, depth=2048, code_width=32, result_width=32, lookahead=lookahead)
    steps = {1: 1500, 3: 1500, 64: 150, 700: 11}[environments]
    with opened("model", config) as kernel:
        estimators = _both(kernel)
        _equal(estimators, rollout(rng, steps, environments, ends=0.01), gamma=0.99)
        assert estimators[0].launcher.launches == 0


def test_layouts_of_a_users_arrays():
    """Slices, Fortran order, float64 and lists give what arrays in C order give."""
    config = kernel_config(rows=8, depth=64, code_width=32, result_width=32)
    with opened("model", config) as kernel:
        ours, _ = _both(kernel)
        arrays = rollout(np.random.default_rng(1), 20, 5, ends=0.1)
        wanted = ours.estimate(*arrays)
        strided = [np.repeat(np.repeat(each, 2, 0), 3, 1)[::2, ::3] for each in arrays]
        for given in (
            strided,
            [np.asfortranarray(each) for each in arrays],
            [each.astype(np.float64) if each.dtype != bool else each for each in arrays],
            [each.tolist() if each.dtype != bool else each for each in arrays],
        ):
            found = ours.estimate(*given)
            assert found.advantages.tobytes() == wanted.advantages.tobytes()
            assert found.returns.tobytes() == wanted.returns.tobytes()
        assert ours.launcher.launches == 0


def test_results_that_are_clipped_are_counted_by_programs():
    """A peak of small rollouts, then a large one: the slots of clipped results are as on a card."""
    rng, config = np.random.default_rng(2), kernel_config(rows=4, depth=64, code_width=8)
    with opened("model", config) as kernel:
        estimators = _both(kernel, rewards="block", values="restored")
        saturated = 0
        for scale in (1, 1, 100, 1):
            arrays = list(rollout(rng, 12, 4, ends=0.1))
            arrays[1], arrays[4] = arrays[1] * scale, arrays[4] * scale
            saturated += _equal(estimators, arrays).statistics["saturated"]
        assert saturated and estimators[0].launcher.launches


@pytest.mark.parametrize("place", [(0, 0), (7, 4), (19, 4)])
@pytest.mark.parametrize("position, name", [(0, "rewards"), (1, "values"), (4, "bootstraps")])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_named(place, position, name, value):
    config = kernel_config(rows=8, depth=64, code_width=32, result_width=32)
    with opened("model", config) as kernel:
        ours, _ = _both(kernel)
        arrays = rollout(np.random.default_rng(1), 20, 5)
        arrays[position][place] = value
        with pytest.raises(UsageError, match=f"{name} must be finite, not {value} at"):
            ours.estimate(*arrays)


@pytest.mark.parametrize(
    "steps, ends, done, fits",
    [
        (8, 0, False, True),
        (9, 0, False, False),
        (8, 0, True, True),
        (9, 0, True, False),
        (7, 1, False, True),
        (7, 2, False, False),
        (7, 1, True, True),
        (8, 1, True, False),
        (8, 1, False, False),
    ],
)
def test_the_stack_is_as_deep_as_on_a_card(steps, ends, done, fits):
    """A stack of 8 slots, and one of bootstraps; ``ends`` episodes are truncated on the way, and
    the last one has terminated if ``done``."""
    config = kernel_config(rows=2, depth=8, code_width=32, result_width=32)
    arrays = rollout(np.random.default_rng(1), steps, 2, ends=0)
    arrays[3][1 : 1 + ends, 1] = True
    arrays[2][-1] = done
    with opened("model", config) as kernel:
        estimators = _both(kernel)
        if fits:
            _equal(estimators, arrays)
            return
        for each in estimators:
            with pytest.raises(UsageError, match="steps must fit the kernel's stack of 8 slots"):
                each.estimate(*arrays)


def test_a_replaced_kernel_is_refused():
    config = kernel_config(rows=8, depth=64, code_width=32, result_width=32)
    with opened("model", config) as kernel:
        ours, _ = _both(kernel)
        kernel.replaced = True
        with pytest.raises(RuntimeError, match="must be the one that its card loaded last"):
            ours.estimate(*rollout(np.random.default_rng(1), 20, 5))
