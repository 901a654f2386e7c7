"""CartPole-v1 (Barto, Sutton and Anderson, 1983), the physics of gymnasium's.

With ``x`` the cart's place, ``a`` the pole's angle, force F, masses m (pole), M (both), half length
l, and ``temp = (F + m l a'^2 sin a) / M``::

    a'' = (g sin a - cos a temp) / (l (4/3 - m cos^2 a / M))
    x'' = temp - m l a'' cos a / M

Euler's rule, explicit, in steps of 0.02 s. An episode ends beyond 2.4 m or 12 degrees, so short
polynomials are enough: sine and cosine of degree 7 and 6 err by 2e-12. The division is none:
with ``q = (m / M) sin^2 a / (4/3 - m / M)``, which is below 0.004, ``1 / (1 + q)`` is
``1 - q + q^2`` with an error of 4e-8 of itself.
"""

import math

from hw.arith.fixed import SQ
from hw.environment.task import Task
from hw.environment.trace import polynomial, where

__all__ = ["CartPole"]

POLE_MASS = 0.1
MASS = 1.0 + POLE_MASS
HALF_LENGTH = 0.5
FORCE = 10.0
PERIOD_S = 0.02
#: where an episode ends
PLACE = 2.4
ANGLE = 12 * 2 * math.pi / 360
#: the angle from which the last step of an episode may begin
_REACHED = 0.21
_MASS_LENGTH = POLE_MASS * HALF_LENGTH / MASS
_UPRIGHT = 4 / 3 - POLE_MASS / MASS


class CartPole(Task):
    """A pole on a cart is kept upright by pushes to the left (0) and right (1).

    A subclass with another ``gravity``, in m/s^2, is the same task elsewhere.
    """

    gravity = 9.8
    formats = dict(x=SQ(4, 28), v=SQ(5, 27), angle=SQ(2, 30), turn=SQ(4, 28))
    actions = 2
    observation = dict(
        x=(-2 * PLACE, 2 * PLACE),
        v=(-math.inf, math.inf),
        angle=(-2 * ANGLE, 2 * ANGLE),
        turn=(-math.inf, math.inf),
    )
    limit, threshold = 500, 475.0
    drawn_as = "CartPole-v1"

    def reset(self, random):
        return [random(-0.05, 0.05) for _ in self.formats]

    def step(self, state, action, random):
        x, v, angle, turn = state
        x, angle = x.within(-PLACE, PLACE), angle.within(-_REACHED, _REACHED)
        square = angle * angle
        sine = angle * polynomial(square, 1, -1 / 6, 1 / 120, -1 / 5040)
        cosine = polynomial(square, 1, -1 / 2, 1 / 24, -1 / 720)
        push = where(action < 1, -FORCE / MASS, FORCE / MASS)
        temp = push + turn * turn * _MASS_LENGTH * sine
        q = sine * sine * (POLE_MASS / MASS / _UPRIGHT)
        inverse = 1 - q + q * q
        bend = (sine * self.gravity - cosine * temp) * (1 / (HALF_LENGTH * _UPRIGHT)) * inverse
        pull = temp - bend * cosine * _MASS_LENGTH
        x, v = x + v * PERIOD_S, v + pull * PERIOD_S
        angle, turn = angle + turn * PERIOD_S, turn + bend * PERIOD_S
        fallen = (abs(x) > PLACE) | (abs(angle) > ANGLE)
        return [x, v, angle, turn], 1.0, fallen
