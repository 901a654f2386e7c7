"""Environments that strike in the first actor of a run with seed 0, or in all of them."""

import os
import sys
import time

import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv

from host.runs.session import Seeds

__all__ = ["STEP", "named"]

#: The step of an environment at which it strikes.
STEP = 30
#: The first environment of actor 0, until it is replaced.
_FIRST = Seeds(0).actor(0, 0)[1]


def _raise():
    raise ValueError("the pole is gone")


STRIKES = {
    "Raises": _raise,
    "Hangs": lambda: time.sleep(600),
    "Exits": lambda: os._exit(3),
    "Leaves": lambda: sys.exit(3),
}


class Striking(CartPoleEnv):
    """CartPole that does what ``strike`` says at its step STEP, if its first seed is ``seed`` or
    ``seed`` is None."""

    def __init__(self, strike, seed, **options):
        super().__init__(**options)
        self._strike, self._seed, self._steps, self._mine = STRIKES[strike], seed, 0, None

    def reset(self, *, seed=None, options=None):
        if self._mine is None:
            self._mine = self._seed is None or seed == self._seed
        return super().reset(seed=seed, options=options)

    def step(self, action):
        self._steps += 1
        if self._mine and self._steps == STEP:
            self._strike()
        return super().step(action)


for _strike in STRIKES:
    for _name, _seed in ((_strike, _FIRST), (f"{_strike}Everywhere", None)):
        gymnasium.register(
            f"rlfabric-tests/{_name}-v0",
            entry_point=Striking,
            max_episode_steps=500,
            reward_threshold=475,
            kwargs={"strike": _strike, "seed": _seed},
        )


def named(strike):
    """The environment's id, which an actor can find, too."""
    return f"{__name__}:rlfabric-tests/{strike}-v0"
