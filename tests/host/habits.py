"""An environment with the habits of users' environments, and the same without them."""

import gymnasium
import numpy as np

__all__ = ["EQUAL", "FAILS", "Habit", "named"]

#: habits with which an environment gives the numbers of "none"
EQUAL = ("reused", "shared", "reward of shape 1", "float64", "integers")
_LOST = "raised LookupError: no more of it"
#: habit -> what the line of the error has, and where it says that it was
FAILS = {
    "raises": (_LOST, "(step 5 of its episode; habits.py line "),
    "raises at a reset": (_LOST, "(at a reset; habits.py line "),
    "NaN": ("env must give finite observations, not nan", "number 1, step 5"),
    "NaN at a reset": ("env must give finite observations, not nan", "number 1, at a reset)"),
    "NaN reward": ("env must give finite rewards, not nan", "step 5 of its episode)"),
    "two rewards": ("env must give rewards that are scalars, not of shape [2]", "step 5 of"),
    "wrong shape": ("env must give observations of shape [3], not of shape [2]", "step 5 of"),
    "no reward": ("env must give rewards that are numbers, not None", "step 5 of its episode)"),
}


class Habit(gymnasium.Env):
    """Observes three whole numbers; ends by a limit of 7 steps, or by itself after 6. A habit that
    fails does so in step 5, or at the second reset.

    ``obs`` is a class attribute: "shared" is one array for all environments of a process.
    """

    obs = np.zeros(3, np.float32)

    def __init__(self, habit="none", discrete=True):
        self.habit = habit
        box = gymnasium.spaces.Box
        kind = np.int64 if habit == "integers" else np.float32
        self.observation_space = box(-100, 100, (3,), kind)
        self.action_space = gymnasium.spaces.Discrete(2) if discrete else box(-0.3, 0.9, (2,))
        self.resets, self._strikes = 0, False
        if habit == "reused":
            self.obs = np.zeros(3, np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.resets += 1
        self.time, self.x = 0, self.np_random.integers(-9, 9, 3)
        self._strikes = self.habit.endswith(" at a reset") and self.resets > 1
        return self._seen(), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.time += 1
        self.x = np.clip(
            self.x + self.np_random.integers(-3, 4, 3) + int(np.sum(action) > 0.5), -50, 50
        )
        self._strikes = self.time == 5 and not self.habit.endswith(" at a reset")
        obs, reward = self._seen(), float(self.x[0]) / 4
        if self.habit == "reward of shape 1":
            reward = np.array([reward])
        if self._strikes:
            reward = {"NaN reward": np.nan, "two rewards": np.ones(2), "no reward": None}.get(
                self.habit, reward
            )
        endless = self.habit == "endless"
        terminated = self.time == 6 and bool(self.x[1] % 3 == 0) and not endless
        return obs, reward, terminated, self.time == 7 and not endless, {}

    def _seen(self):
        kind = np.float64 if self.habit == "float64" else self.observation_space.dtype
        obs = self.x.astype(kind)
        if self.habit in ("reused", "shared"):
            self.obs[:] = obs
            return self.obs
        if self._strikes and self.habit.startswith("raises"):
            raise LookupError("no more\nof it")
        if self._strikes and self.habit in ("NaN", "NaN at a reset"):
            obs[1] = np.nan
        return obs[:2] if self._strikes and self.habit == "wrong shape" else obs


def named(habit, discrete=True):
    """The environment's id."""
    return f"{__name__}:{_id(habit, discrete)}"


def _id(habit, discrete):
    return f"rlfabric-tests/Habit_{habit.replace(' ', '_')}_{'D' if discrete else 'B'}-v0"


for _habit in ("none", "endless", *EQUAL, *FAILS):
    for _discrete in (True, False):
        gymnasium.register(
            _id(_habit, _discrete),
            entry_point=Habit,
            disable_env_checker=True,
            kwargs={"habit": _habit, "discrete": _discrete},
        )
