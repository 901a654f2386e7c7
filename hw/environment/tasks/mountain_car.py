"""MountainCar-v0 (Moore, 1990), the physics of gymnasium's.

With ``x`` the car's place and ``v`` its way in a step::

    v = clip(v + 0.001 (action - 1) - 0.0025 cos(3 x), -0.07, 0.07)
    x = clip(x + v, -1.2, 0.6)

At the left end the car stops. The reward is -1 in each step, until the car is at 0.5 or beyond,
with a velocity that does not lead back.

The cosine is the sine of ``3 x + pi / 2``, an angle between -2.03 and 3.37: it is folded at both
ends before the polynomial of degree 9, whose error of 2e-8 moves the velocity by 5e-11. The goal
is 0.5 rounded to 2^-30, which is exact, so an episode ends in the same step as gymnasium's unless
the place is within some 2^-29 of it.
"""

import math

from hw.arith.fixed import SQ
from hw.environment.task import Task
from hw.environment.trace import clip, maximum, sine, where

__all__ = ["MountainCar"]

#: ends of the valley
LEFT = -1.2
RIGHT = 0.6
#: where an episode ends
GOAL = 0.5
#: way in a step, at most
FASTEST = 0.07
#: by which the engine, and the slope at its steepest, change the velocity in a step
FORCE = 0.001
GRAVITY = 0.0025


class MountainCar(Task):
    """A car in a valley, whose engine is too weak to climb out without a run-up, is driven to the
    left (0), not at all (1) or to the right (2).

    Both numbers of the state have 30 fraction bits, so none of their sums needs a shift.
    """

    formats = dict(x=SQ(2, 30), v=SQ(2, 30))
    actions = 3
    observation = dict(x=(LEFT, RIGHT), v=(-FASTEST, FASTEST))
    limit, threshold = 200, -110.0
    drawn_as = "MountainCar-v0"

    def reset(self, random):
        return [random(-0.6, -0.4), 0.0]

    def step(self, state, action, random):
        x, v = state
        x, v = x.within(LEFT, RIGHT), v.within(-FASTEST, FASTEST)
        slope = sine(x * 3 + math.pi / 2)  # cos(3 x)
        v = clip(v + (action - 1) * FORCE - slope * GRAVITY, -FASTEST, FASTEST)
        x = clip(x + v, LEFT, RIGHT)
        v = where(x > LEFT, v, maximum(v, 0.0))  # a wall stops it
        return [x, v], -1.0, (x >= GOAL) & (v >= 0)
