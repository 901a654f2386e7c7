"""Tasks for tests: rlfabric's own, and odd ones; and their operations in NumPy's int64, the second
witness of the programs that the twin runs."""

import numpy as np

from hw.arith.fixed import SQ
from hw.environment.task import Task
from hw.environment.tasks.cartpole import CartPole
from hw.environment.tasks.mountain_car import MountainCar
from hw.environment.tasks.pendulum import Pendulum
from hw.environment.trace import clip, maximum, minimum, where

LOW, HIGH = -(1 << 31), (1 << 31) - 1
#: words at which sums, products and comparisons change
CORNERS = np.array([LOW, LOW + 1, -(1 << 30), -1, 0, 1, 1 << 30, HIGH - 1, HIGH])


class Odd(Task):
    """States that change places, that stay, and that are constants; two torques; all operations;
    an observation that is a state twice."""

    formats = dict(a=SQ(4, 28), b=SQ(4, 28), c=SQ(4, 28), same=SQ(8, 24), fixed=SQ(2, 30))
    actions = dict(left=(-1.0, 1.0), right=(0.0, 3.0))
    observation = dict(a=(-8, 8), b=(-8, 8), again=(-8, 8), sum=(-16, 16))
    limit = 7

    def reset(self, random):
        return [random(-1.0, 2.0), 0.5, random(0.0, 1.0), random(-100.0, 100.0), 1.0]

    def observe(self, state):
        a, b, c, *_ = state
        return [a, b, a, b + c]

    def step(self, state, action, random):
        a, b, c, same, _ = state
        left, right = action
        near = (a < b) & ~(b >= c) | (same > 50.0) & (left <= right)
        mixed = where(near, clip(a * left - b, -3.0, 3.0), abs(c) + 0.25)
        product = minimum(a, maximum(b * right, -c)) * (1 / 3)
        return [c, a, mixed, same, 1.5], product - left, near & (a > 0)


class Noisy(Task):
    """An integer state that a step draws from, and never ends by itself."""

    formats = dict(x=SQ(16, 16))
    actions = 3
    observation = dict(x=(-1e4, 1e4))
    limit = 40

    def reset(self, random):
        return [3]

    def step(self, state, action, random):
        (x,) = state
        return [x + (action - 1) + random(-2.0, 2.0)], x, False


class Drawing(Task):
    """Its program would be shorter if the reward were drawn before the state."""

    formats = dict(x=SQ(16, 16))
    actions = 2
    observation = dict(x=(-1e4, 1e4))
    limit = 40

    def reset(self, random):
        return [random(-1.0, 1.0)]

    def step(self, state, action, random):
        (x,) = state
        return [x + random(-2.0, 2.0)], random(0.0, 1.0), x > 1.0


class Alike(Task):
    """States that are one number after a step, or after a reset, but not after both."""

    formats = dict(a=SQ(4, 28), b=SQ(4, 28), c=SQ(4, 28))
    actions = 2
    observation = dict(c=(-8, 8), b=(-8, 8), a=(-8, 8))
    limit = 9

    def reset(self, random):
        first = random(-1.0, 1.0)
        return [first, random(-1.0, 1.0), first]

    def observe(self, state):
        return state[::-1]

    def step(self, state, action, random):
        a, b, c = state
        return [b, b, c + 0.25], a, False


class Many(Task):
    """As many constants as a task may need: their numbers have 8 bits."""

    formats = dict(x=SQ(4, 28))
    actions = 2
    observation = dict(x=(-8, 8))
    limit = 9

    def reset(self, random):
        return [0.125]

    def step(self, state, action, random):
        (x,) = state
        for k in range(110):
            x = (x * (0.5 + k * 1e-3) + (k + 1) * 1e-3).within(-4, 4)
        return [x], x, x < 0.0


SHIPPED = (CartPole, MountainCar, Pendulum)
CASES = (*SHIPPED, Odd, Noisy, Drawing, Alike, Many)


def witness(traced, state=(), action=(), random=()):
    """The value of each operation of a Traced, int64 [n], by its index in the trace.

    ``state``, ``action``, ``random``: words [n] of each input, in its order.
    """
    values = []
    for each in traced.trace.operations:
        operands = [values[i] for i in each.operands]
        values.append(np.clip(_result(each, operands, state, action, random), LOW, HIGH))
    return values


def _result(operation, operands, state, action, random):
    inputs = {"STATE": state, "ACTION": action, "RANDOM": random}
    if operation.name in inputs:
        return np.asarray(inputs[operation.name][operation.value], np.int64)
    if operation.name == "CONSTANT":
        return np.int64(operation.value)
    if operation.name == "SELECT":
        x, y, a, b = operands
        return np.where(x < y, a, b)
    if operation.name == "MUL":
        shift = np.int64(operation.value)
        return (operands[0] * operands[1] + (np.int64(1) << (shift - 1))) >> shift
    if operation.name == "STORED":
        return operands[0]
    function = {"ADD": np.add, "SUB": np.subtract, "MIN": np.minimum, "MAX": np.maximum}
    return function[operation.name](*operands)


def words_of(rng, rows, count):
    """Words [rows, count] of the whole range, with CORNERS often among them."""
    words = rng.integers(LOW, HIGH, (rows, count), endpoint=True)
    small = rng.integers(-1000, 1000, (rows, count))
    chosen = rng.random((rows, count))
    words = np.where(chosen < 0.2, rng.choice(CORNERS, (rows, count)), words)
    return np.where(chosen > 0.9, small, words)


def returns(envs, obs, act):
    """Returns of the first episode of each environment of a vector, from its observations ``obs``
    on."""
    total, alive = np.zeros(envs.num_envs), np.ones(envs.num_envs, bool)
    while alive.any():
        obs, reward, terminated, truncated, _ = envs.step(act(obs))
        total += reward * alive
        alive &= ~(terminated | truncated)
    return total
