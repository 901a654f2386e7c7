"""A small task of images, which a convolution makes easy."""

import gymnasium
import numpy as np

__all__ = ["NAME", "SHAPE", "Strokes"]

NAME, SHAPE = "rlfabric-tests/Strokes-v0", (8, 8, 1)

#: pixels (y, x) of a falling stroke, and of a rising one
_STROKES = (((0, 0), (1, 1)), ((0, 1), (1, 0)))


class Strokes(gymnasium.Env):
    """A stroke of two pixels somewhere falls (action 0 is right, for a reward of 3) or rises (1).
    Episodes are of 4 images, in turn terminated and truncated."""

    observation_space = gymnasium.spaces.Box(0, 255, SHAPE, np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def _look(self):
        image = np.zeros(SHAPE, np.uint8)
        self._right, *at = self.np_random.integers((2, 7, 7))
        for y, x in _STROKES[self._right]:
            image[at[0] + y, at[1] + x] = 255
        return image

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._time, self._episode = 0, getattr(self, "_episode", -1) + 1
        return self._look(), {}

    def step(self, action):
        reward = 3.0 * (action == self._right)
        self._time += 1
        ended, cut = self._time == 4, self._episode % 2 == 1
        return self._look(), reward, ended and not cut, ended and cut, {}


gymnasium.register(NAME, entry_point=Strokes)
