"""Pendulum-v1, the physics of gymnasium's.

With ``a`` the angle from upright, ``w`` its velocity and ``u`` the torque, in steps of 0.05 s::

    w = clip(w + (15 sin a + 3 u) 0.05, -8, 8)
    a = a + 0.05 w

The reward of a step is ``-(a^2 + 0.1 w^2 + 0.001 u^2)`` of the state before it. gymnasium's angle
grows with every turn, and is brought into [-pi, pi) for the reward; here the state itself is,
which a step leaves by 0.4 at most. Agents see its cosine and sine.
"""

import math

from hw.arith.fixed import SQ
from hw.environment.task import Task
from hw.environment.trace import clip, cosine, sine, where

__all__ = ["Pendulum"]

GRAVITY = 10.0
MASS = 1.0
LENGTH = 1.0
#: radians a second, at most
FASTEST = 8.0
#: of the motor, at most, in either direction
TORQUE = 2.0
PERIOD_S = 0.05
#: radians
TURN = 2 * math.pi


class Pendulum(Task):
    """A pendulum with a weak motor at its pivot is swung up, and held there."""

    formats = dict(angle=SQ(4, 28), speed=SQ(5, 27))
    actions = dict(torque=(-TORQUE, TORQUE))
    observation = dict(cosine=(-1.0, 1.0), sine=(-1.0, 1.0), speed=(-FASTEST, FASTEST))
    limit = 200
    drawn_as = "Pendulum-v1"

    def reset(self, random):
        return [random(-math.pi, math.pi), random(-1.0, 1.0)]

    def observe(self, state):
        angle, speed = state
        angle = angle.within(-math.pi, math.pi)
        return [cosine(angle), sine(angle), speed]

    def step(self, state, action, random):
        angle, speed = state
        (torque,) = action
        angle, speed = angle.within(-math.pi, math.pi), speed.within(-FASTEST, FASTEST)
        cost = angle * angle + speed * speed * 0.1 + torque * torque * 0.001
        pull = sine(angle) * (3 * GRAVITY / (2 * LENGTH) * PERIOD_S)
        push = torque * (3.0 / (MASS * LENGTH**2) * PERIOD_S)
        speed = clip(speed + pull + push, -FASTEST, FASTEST)
        angle = angle + speed * PERIOD_S
        back = where(angle < math.pi, where(angle < -math.pi, TURN, 0.0), -TURN)
        return [(angle + back).within(-math.pi, math.pi), speed], -cost, False
