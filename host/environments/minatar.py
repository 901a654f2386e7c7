"""MinAtar: small versions of Atari games, in binary planes (Young and Tian, arXiv:1903.03176)."""

import gymnasium
import numpy as np

from host.environments.seeds import folded

__all__ = ["MinAtarEnv", "is_minatar"]

#: side of a cell in a picture
_CELL = 32


def is_minatar(spec):
    """Whether a ``gymnasium.EnvSpec`` is of an environment of MinAtar."""
    return spec.entry_point == "minatar.gym:BaseEnv"


class MinAtarEnv(gymnasium.Wrapper):
    """A wrapper of an environment of MinAtar, as its authors registered it: with chance 0.1 the
    last action is repeated instead of the new one (sticky actions), difficulty rises, episodes have
    no limit of steps, and observations are binary planes [10, 10, channels].

    A reset with a seed also resets the last action, so that the seed decides everything after it;
    MinAtar itself may repeat the last action in the first step of the next episode. ``render``
    returns a picture in MinAtar's colours, bytes [320, 320, 3].
    """

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.unwrapped.game.last_action = 0
            seed = folded(seed, 32)
        return self.env.reset(seed=seed, options=options)

    def render(self):
        picture = self.env.render()  # of numbers in [0, 1], or None in a window
        if picture is None:
            return None
        cells = np.rint(255 * np.asarray(picture)).astype(np.uint8)
        return cells.repeat(_CELL, axis=0).repeat(_CELL, axis=1)
