"""Actions that an environment gets are in its action space: of random Boxes, by every algorithm and
by Policy.predict. Where scaling alone stays in the Box, nothing else changes them."""

from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from host.agents.registry import find
from host.environments.environment import Actor
from host.environments.spec import Spec
from hw.errors import UsageError
from rlfabric.policy import Policy
from tests.host.habits import Habit

SEEN = Box(-1, 1, (3,), np.float32)
KINDS = [np.float32, np.float64, np.float16, np.int64, np.uint8]
ENDS = np.float32([[-1, -1], [0, 0], [1, 1]])


def spec_of(space):
    return Spec.of(SimpleNamespace(single_observation_space=SEEN, single_action_space=space))


def boxes(kind, count, rng):
    """Boxes of two components: two-digit bounds, and bounds of any magnitude."""
    kind = np.dtype(kind)
    for number in range(count):
        if kind.kind == "f":
            most = {2: 4, 4: 30, 8: 300}[kind.itemsize] if number % 4 == 3 else 0
            ends = rng.integers(-99, 100, (2, 2)) / 100 * 10.0 ** rng.integers(-most, most + 1)
        elif kind == np.uint8:
            ends = rng.integers(0, 256, (2, 2))
        else:
            ends = rng.integers(-(1 << (number % 53)), (1 << (number % 53)) + 1, (2, 2))
        low, high = np.sort(ends, axis=0).astype(kind)
        yield Box(low, high, dtype=kind)


@pytest.mark.parametrize("kind", KINDS)
def test_random_boxes(kind):
    rng, passed = np.random.default_rng(0), 0
    for space in boxes(kind, 2000, rng):
        random = rng.uniform(-1, 1, (4, 2)).astype(np.float32)
        actions = np.concatenate([ENDS, random, 3 * random])
        applied = spec_of(space).applied(actions)
        assert applied.dtype == space.dtype and applied.shape == actions.shape
        inside = (applied >= space.low) & (applied <= space.high)
        assert inside.all(), (space, actions[~inside], applied[~inside])
        if kind in (np.float32, np.float64):
            plain = space.low + (actions + 1) * ((space.high - space.low) / 2)
            inside = (plain >= space.low) & (plain <= space.high)
            assert applied[inside].tobytes() == plain[inside].tobytes()
            passed += not inside[:3].all()
        # Each end is reached, within the rounding of the span.
        eps = 1.0 if space.dtype.kind != "f" else 4 * np.finfo(kind).eps
        span = np.abs(space.low.astype(float)) + np.abs(space.high.astype(float))
        for row, end in ((0, space.low), (2, space.high)):
            off = np.abs(applied[row].astype(float) - end.astype(float))
            assert (off <= (eps * span if space.dtype.kind == "f" else 0)).all()
    assert kind not in (np.float32, np.float64) or passed > 200, "rounding passes them"


@pytest.mark.parametrize("kind", KINDS)
def test_gymnasium_agrees(kind):
    rng = np.random.default_rng(1)
    for space in boxes(kind, 40, rng):
        assert all(map(space.contains, spec_of(space).applied(ENDS)))


def test_integers_are_rounded():
    spec = spec_of(Box(-3, 3, (1,), np.int32))
    given = np.float32([[-1], [-0.85], [-0.8], [0.15], [0.18], [0.8], [0.85], [1]])
    assert spec.applied(given)[:, 0].tolist() == [-3, -3, -2, 0, 1, 2, 3, 3]
    assert spec_of(Box(0, 1, (1,), np.bool_)).applied(given).dtype == np.bool_


@pytest.mark.parametrize(
    "space", [Discrete(3), Discrete(3, start=2), Box(-1, 1, (1,)), Box(-9, 2, (1,))]
)
def test_an_environment_may_write_into_its_actions(space):
    """What it was given is its own: the actions that are kept stay as they were."""
    shape = (3,) if isinstance(space, Discrete) else (3, 1)
    for dtype in (np.int64, np.int32, np.float32):
        actions = np.arange(3).reshape(shape).astype(dtype) % 2
        before = actions.copy()
        spec_of(space).applied(actions)[:] = 7
        np.testing.assert_array_equal(actions, before)


BOXES = [Box(np.float32([-0.3, -0.7]), np.float32([0.9, 0.4])), Box(-0.35, 0.2, (2,), np.float16)]
BOXES += [Box(-0.7, 0.4, (2,), np.float64), Box(-5, 2, (2,), np.int64), Box(0, 255, (2,), np.uint8)]


@pytest.mark.parametrize("space", BOXES, ids=lambda space: str(space.dtype))
@pytest.mark.parametrize("name", ["ddpg", "td3", "sac", "ppo"])
def test_actions_of_every_algorithm(name, space):
    """Also of a policy that is saturated, and with the noise of the start."""
    algorithm, spec = find(name), spec_of(space)
    acting = algorithm.policy(algorithm.config(hidden=(8,)).in_run(100), spec)
    policy, rng = Policy(acting, name, "X-v0", None), np.random.default_rng(2)
    for scale in (1, 1e3):
        seen = (scale * rng.normal(size=(16, 3))).astype(np.float32)
        for greedy in (True, False):
            applied = spec.applied(np.asarray(acting.act(seen, greedy=greedy)))
            predicted, _ = policy.predict(seen, deterministic=greedy)
            one, _ = policy.predict(seen[0], deterministic=greedy)
            assert all(map(space.contains, (*applied, *predicted, one)))


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
@pytest.mark.parametrize("name", ["dqn", "a3c", "ppo"])
def test_integers_of_every_algorithm(name, kind):
    algorithm, space = find(name), Discrete(3, start=kind(5), dtype=kind)
    spec = spec_of(space)
    acting = algorithm.policy(algorithm.config(hidden=(8,)).in_run(100), spec)
    seen = np.random.default_rng(2).normal(size=(16, 3)).astype(np.float32)
    policy = Policy(acting, name, "X-v0", None)
    for greedy in (True, False):
        predicted, _ = policy.predict(seen, deterministic=greedy)
        assert all(map(space.contains, predicted)) and predicted.dtype == kind
    assert Spec.from_dict(spec.to_dict()) == spec
    assert (spec.to_dict()["action_dtype"] == "float32") == (kind == np.int64), "as in older files"


HUGE = np.float32(3e38)
HUGES = np.array([1, HUGE], np.float32)  # one of its components


@pytest.mark.parametrize(
    "space, rule",
    [
        (Box(-HUGE, HUGE, (2,), np.float32), "a Box of a finite high - low in float32"),
        (Box(-1.7e308, 1.7e308, (2,), np.float64), "a Box of a finite high - low in float64"),
        (Box(-HUGES, HUGES, (2,), np.float32), "a Box of a finite high - low in float32"),
        (Box(-np.inf, np.inf, (2,), np.float32), "a Box of a finite high - low in float32"),
        (Box(0, np.inf, (2,), np.float16), "a Box of a finite high - low in float32"),
        (Box(0, 1 << 60, (2,), np.int64), r"a Box of integers within -2\^53..2\^53"),
        (Box(-np.inf, 0, (2,), np.int64), r"a Box of integers within -2\^53..2\^53"),
        (Box(0, 1, (2,), np.longdouble), "a Box of float16, float32, float64 or integers"),
        (Box(0, 1, (2, 2), np.float32), "a Box of one dimension"),
    ],
)
def test_boxes_that_cannot_be_scaled(space, rule):
    with pytest.raises(UsageError, match=rf"^env must have actions in {rule}, not Box\("):
        spec_of(space)

    class Other(Habit):
        def __init__(self):
            super().__init__()
            self.action_space = space

    envs = SyncVectorEnv([Other], autoreset_mode=AutoresetMode.SAME_STEP)
    with pytest.raises(UsageError, match="^env must have actions in a Box of "):
        Actor(envs, seed=0)


@pytest.mark.parametrize(
    "space", [Box(-HUGE / 2, HUGE / 2, (2,)), Box(-60000, 60000, (2,), np.float16)]
)
def test_the_largest_boxes(space):
    assert all(map(space.contains, spec_of(space).applied(np.concatenate([ENDS, 1.1 * ENDS]))))


INTEGERS, NUMBERS = spec_of(Discrete(3, start=5)), spec_of(Box(-1, 1, (2,)))


@pytest.mark.parametrize(
    "spec, actions, words",
    [
        (INTEGERS, np.array([0, 3]), r"integers in 0..2, not 3 \(row 1\)"),
        (INTEGERS, np.array([-1, 0]), r"integers in 0..2, not -1 \(row 0\)"),
        (INTEGERS, np.array([0, 0.5]), r"integers in 0..2, not 0.5 \(row 1\)"),
        (INTEGERS, np.array([np.nan, 0]), r"integers in 0..2, not nan \(row 0\)"),
        (INTEGERS, np.array([[0, 1]]), r"\[rows\], not \[1, 2\]"),
        (INTEGERS, np.array(0), r"\[rows\], not \[\]"),
        (
            NUMBERS,
            np.array([[0, 0], [0, np.nan]]),
            r"numbers in .-1, 1., not nan \(row 1, component 1\)",
        ),
        (NUMBERS, np.zeros(2), r"\[rows, 2\], not \[2\]"),
        (NUMBERS, np.zeros((2, 1)), r"\[rows, 2\], not \[2, 1\]"),
    ],
)
def test_what_stands_for_no_action(spec, actions, words):
    with np.errstate(all="raise"):
        with pytest.raises(UsageError, match=f"^actions must be {words}"):
            spec.applied(actions)


def test_whole_numbers_of_another_type():
    for kind in (np.uint32, np.int8, np.bool_, np.float32):
        applied = INTEGERS.applied(np.array([0, 1], kind))
        assert applied.tolist() == [5, 6] and applied.dtype == np.int64
    below = spec_of(Discrete(3, start=-5))
    assert below.applied(np.uint32([0, 2])).tolist() == [-5, -3]


def test_a_row_for_each_environment():
    envs = SyncVectorEnv([Habit] * 2, autoreset_mode=AutoresetMode.NEXT_STEP)
    actor = Actor(envs, seed=0)
    for wrong in (np.zeros(3, np.int64), np.zeros((), np.int64)):
        with pytest.raises(
            UsageError, match="^action must have a row for each of 2 environments, n"
        ):
            actor.step(wrong)
    actor.step([0, 1])
