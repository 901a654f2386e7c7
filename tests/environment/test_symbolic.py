"""What the tracer refuses, each by name, and what it makes of numbers, conditions and angles."""

import math

import numpy as np
import pytest
from environment.task_cases import Odd, witness

from hw.arith.fixed import SQ, UQ
from hw.environment import task_program
from hw.environment.task import Task, trace
from hw.environment.task_program import Opcode, assemble
from hw.environment.trace import Trace, cosine, maximum, minimum, polynomial, sine, where


class Small(Task):
    """A task of one number, which tests change."""

    formats = dict(x=SQ(4, 28))
    actions = 2
    observation = dict(x=(-8, 8))
    limit = 10

    def reset(self, random):
        return [random(0.0, 1.0)]

    def step(self, state, action, random):
        return [self.following(*state, action)], 0.0, False

    def following(self, x, action):
        return x


def small(following=None, **attributes):
    kind = type(
        "Small", (Small,), {**attributes, **({"following": following} if following else {})}
    )
    return kind()


def many(self, x, action):
    numbers = [x * (0.01 * k + 0.5) for k in range(40)]
    result = numbers[0]
    for each in numbers[1:]:
        result = maximum(result, each)
    for each in numbers:
        result = minimum(result, each + 0.1)
    return result


def unfolded(self, x, action):
    for k in range(300):
        x = (x * 0.5 + (k + 1) * 1e-6).within(-4, 4)
    return x


def constants(self, x, action):
    for k in range(140):
        x = (x * (0.4 + k * 1e-3) + k * 1e-6).within(-4, 4)
    return x


@pytest.mark.parametrize(
    "task, message",
    [
        (small(limit=None), "Small.limit must be a time limit in 1..2147483647 steps, not None"),
        (small(limit=0), "Small.limit must be a time limit"),
        (small(formats=dict(x=SQ(4, 20))), r"Small.formats\['x'\] must be a signed format of 32"),
        (small(formats=dict(x=UQ(4, 28))), r"Small.formats\['x'\] must be a signed format"),
        (small(formats={}), "Small.formats must be a dict"),
        (small(actions=0), "Small.actions must be a number in 1..65536"),
        (small(actions=dict(u=(1.0, 1.0))), r"Small.actions\['u'\] must be bounds"),
        (small(actions=dict(u=(-math.inf, 1.0))), r"Small.actions\['u'\] must be bounds, not -inf"),
        (small(actions=dict(u=(0.0, math.nan))), r"Small.actions\['u'\] must be bounds, not 0.0.."),
        (small(observation=dict(x=(0, 1), y=(0, 1))), "Small.observe must return 2 numbers, not 1"),
        (small(lambda self, x, action: x * 2.0**31), r"test_symbolic.py line \d+: a number must "
         "have a format of 32 bits"),
        (small(lambda self, x, action: x * x * x * 2.0**24 * 0.001, formats=dict(x=SQ(2, 30))),
         r"state 'x' must be SQ\(2, 30\) .*must have a (shift|format)"),
        (small(lambda self, x, action: maximum(x * 2.0**20, x) * 0.001),
         r"state 'x' must be SQ\(4, 28\) \(.*must have a shift of 24..31"),
        (small(lambda self, x, action: x if x < 1 else 2), "must be used by where"),
        (small(lambda self, x, action: 1 if x else 2), "a number must be used by where, not by if"),
        (small(lambda self, x, action: where(x == 1, x, 2)), "compared by <, not by =="),
        (small(lambda self, x, action: "x"), "Small must give a number as state 'x', not 'x'"),
        (small(lambda self, x, action: math.nan), "a number as state 'x', not nan"),
        (small(lambda self, x, action: sine(x)), "an angle must be within 3/4 of a turn"),
        (small(lambda self, x, action: x.within(9, 10)), "bounds must overlap -8..8"),
        (small(lambda self, x, action: maximum(1, 2)), "one operand must be a number of the task"),
        (small(many), "Small must hold at most 29 numbers at a time"),
        (small(unfolded), "Small must have at most 256 (instructions|constants)"),
        (small(constants), "Small must have at most 256 constants"),
        (small(reset=lambda self, random: [random(1.0, 1.0)]), "random must be in a range"),
        (small(reset=lambda self, random: [0, 0]), "Small must give a state of 1 numbers"),
        (small(step=lambda self, state, action, random: state), "must return state, reward, term"),
        (small(step=lambda self, state, action, random: (state, 0, 1)), "must return a condition"),
    ],
)  # fmt: skip
def test_refusals(task, message):
    with pytest.raises(ValueError, match=message):
        assemble(trace(task))


@pytest.mark.parametrize("limit", ["WORDS", "CONSTANTS"])
def test_limits_are_exact(limit, monkeypatch):
    """Of words in both functions, and of the constants that both have."""
    traced = trace(Odd())
    program = assemble(traced)
    assert 0 < program.reset_start < len(program.words)
    count = len(program.words if limit == "WORDS" else program.constants)
    monkeypatch.setattr(task_program, limit, count)
    assert assemble(traced) == program
    monkeypatch.setattr(task_program, limit, count - 1)
    with pytest.raises(ValueError, match=f"Odd must have at most {count - 1} "):
        assemble(traced)


@pytest.mark.parametrize("ended", [False, True])
def test_a_step_may_end_every_episode_or_none(ended):
    task = small(step=lambda self, state, action, random: (state, 0, ended))
    step = trace(task).step
    assert witness(step, [np.zeros(1)], [np.zeros(1)])[step.terminated.index] == ended


def number_of(words, form):
    made = Trace()
    bounds = form.low * form.resolution, form.high * form.resolution
    return made, made.number("STATE", (), form.fraction, *bounds, 0), [np.array(words, np.int64)]


class Function:
    """A traced function of one number."""

    def __init__(self, trace):
        self.trace = trace

    def value(self, number, state):
        return np.ldexp(witness(self, state)[number.index].astype(float), -number.fraction)


@pytest.mark.parametrize("function, ours", [(np.sin, sine), (np.cos, cosine)])
def test_angles(function, ours):
    """On [-pi, pi], corners of the folds among them."""
    form = SQ(3, 29)
    corners = [-math.pi, -math.pi / 2, 0, math.pi / 2, math.pi]
    angles = np.concatenate([corners, np.linspace(-math.pi, math.pi, 20_001)])
    words, _ = form.quantize(angles)
    made, x, state = number_of(words, form)
    result = Function(made).value(ours(x.within(-math.pi, math.pi)), state)
    assert np.abs(result - function(angles)).max() < 3e-8


def test_bounds_give_the_format():
    """A result has the most fraction bits with which its bounds fit, up to 30."""
    made, x, state = number_of([SQ(4, 28).high, SQ(4, 28).low, 12345], SQ(4, 28))
    assert (x * x).fraction == 25 and (x * 0.001).fraction == 30 and (x + x).fraction == 27
    assert (x * 1000.0).fraction == 18 and abs(x).fraction == 28
    narrow = x.within(-0.5, 0.5)
    assert (narrow * narrow).fraction == 30 and (narrow + narrow).fraction == 28
    values = x.high, x.low, 12345 * 2.0**-28
    cases = (
        (x * x, [v * v for v in values]),
        (x + x, [2 * v for v in values]),
        (1 - x * 0.25, [1 - v / 4 for v in values]),
        (polynomial(narrow, 1, 2, 3), [None, None, 1 + 2 * values[2]]),
    )
    for number, wanted in cases:
        found = Function(made).value(number, state)
        for got, each in zip(found, wanted, strict=True):
            assert each is None or got == pytest.approx(each, abs=2.0**-24)


def test_a_word_is_its_own_condition():
    """And no other number that is compared with 0: one down to -5 ended episodes."""
    made, x, state = number_of([-5, 0, 1, 7], SQ(32, 0))
    below = minimum(x, 1)
    word = (below > 0).word()
    np.testing.assert_array_equal(Function(made).value(word, state), [0, 0, 1, 1])
    np.testing.assert_array_equal(Function(made).value((~(below > 0)).word(), state), [1, 1, 0, 0])
    flag = maximum(below, 0)
    assert (flag > 0).word().index == flag.index
    np.testing.assert_array_equal(Function(made).value((~(flag > 0)).word(), state), [1, 1, 0, 0])


_RANGES = [(-2.0, 1.0), (-3.0, -1.0), (0.0, 2.5), (1.0, 3.0), (-0.25, 4.0)]
_OPERATIONS = (
    lambda a, b: a * b,
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: maximum(a, b),
    lambda a, b: minimum(a, b),
    lambda a, b: where(a < b, a, b),
)


@pytest.mark.parametrize("operation", _OPERATIONS)
def test_bounds_are_what_the_corners_give(operation):
    """Of ranges on both sides of 0: a narrower bound would clip, a wider one cost fraction bits."""
    form = SQ(4, 28)
    for one in _RANGES:
        for other in _RANGES:
            ends = [[x, y] for x in one for y in other]
            made, a, [first] = number_of(form.quantize([x for x, _ in ends])[0], form)
            b = made.number("STATE", (), form.fraction, *other, 1)
            a = made.number("STATE", (), form.fraction, *one, 0)
            result = operation(a, b)
            state = [first, np.array(form.quantize([y for _, y in ends])[0], np.int64)]
            found = Function(made).value(result, state)
            if operation is _OPERATIONS[-1]:  # either may be chosen
                assert (result.low, result.high) == (min(one + other), max(one + other))
            else:
                corners = pytest.approx((found.min(), found.max()), abs=2.0**-24)  # 2^31 is clipped
                assert (result.low, result.high) == corners


def test_equal_operations_are_one():
    made, x, _ = number_of([0], SQ(4, 28))
    first, before = x * x + 1, len(made.operations)
    second = x * x + 1
    assert first.index == second.index and len(made.operations) == before


def test_a_shift_and_its_opposite_are_no_operations():
    made, x, _ = number_of([0], SQ(4, 28))
    lower = x.at(27)
    assert lower.index != x.index and lower.at(28).index == x.index
    assert lower.at(28).fraction == 28
    assert (x * 2.0).index != x.index and lower.at(26).index not in (lower.index, x.index)


def test_a_sum_of_products_needs_no_shift():
    """Products take the fraction of the sum; a state that has another costs one product."""

    def products(fraction):
        def following(self, x, action):
            x = x.within(-1.0, 1.0)
            return x * 0.001 + x * x * 0.25

        task = small(following, formats=dict(x=SQ(32 - fraction, fraction)))
        program = assemble(trace(task))
        words = program.words[: program.reset_start]
        return [Opcode(word & 7).name for word in words[:-1]]  # the last moves the reward

    assert products(28) == ["MUL", "MUL", "MUL", "ADD", "MAX"]


def test_registers_of_an_odd_task():
    """States that change places are moved without being lost: the twin's tests compare them."""
    program = assemble(trace(Odd()))
    assert program.state_count == 5 and program.action_count == 2
    assert [place for place, _ in program.observation] == [0, 1, 0, 7]
    assert program.reward == 5 and program.terminated == 6
    assert all(word >> 30 == 0 for word in program.words)
