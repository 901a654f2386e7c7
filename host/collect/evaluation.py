"""Greedy episodes, each of a seed of its own, on a few copies of an environment."""

import warnings

import numpy as np
from gymnasium.vector import SyncVectorEnv

from host.collect.environment import make_envs
from host.collect.spec import Spec

__all__ = ["Copies", "evaluate"]

#: copies of an environment at most: acting costs much the same for one row as for so many
_MOST = 8


class Copies:
    """Copies of an environment for evaluations of so many ``episodes``, each stepped by itself.

    Parameters
    ----------
    env, algorithm, render_mode
        As for ``make_envs``, whose errors these are.
    episodes : int

    Attributes
    ----------
    envs : list of gymnasium.vector.VectorEnv
        Of one environment each, at most 8.
    """

    def __init__(self, env, episodes, algorithm, render_mode=None):
        self.episodes, self.envs = episodes, []
        try:
            for _ in range(min(episodes, _MOST)):
                self.envs.append(make_envs(env, 1, algorithm, render_mode))
        except BaseException:
            self.close()
            raise
        spec = Spec.of(self.envs[0])
        self.applied, self.dtype = spec.applied, np.dtype(spec.dtype)

    def close(self):
        for envs in self.envs:
            envs.close()


class _Game:
    """The one environment of a vector, as gymnasium.Env has ``reset`` and ``step``."""

    def __init__(self, envs):
        self._envs = envs

    def reset(self, seed):
        obs, info = self._envs.reset(seed=seed)
        return obs[0], info

    def step(self, action):
        """What follows a step that ends the episode is of the next one, and of no use."""
        obs, *numbers, info = self._envs.step(np.array([action]))
        return obs[0], *(array[0] for array in numbers), info


class _Episode:
    """Episode ``number``, from ``seed + number``, on one of the Copies."""

    def __init__(self, envs, number, seed, dtype):
        self.envs, self.number, self._dtype = envs, number, dtype
        # Without the vector around it, which costs as much as many an environment's step.
        self._game = envs.envs[0] if isinstance(envs, SyncVectorEnv) else _Game(envs)
        obs, _ = self._game.reset(seed=seed + number)
        self.obs = np.asarray(obs, dtype)
        self.gained, self.steps, self.ended = 0.0, 0, False

    def step(self, action):
        obs, reward, terminated, truncated, _ = self._game.step(action)
        self.obs = np.asarray(obs, self._dtype)
        self.gained += float(reward)
        self.steps += 1
        self.ended = bool(terminated or truncated)


def evaluate(policy, copies, *, seed, limit=None, stop=()):
    """Return of each greedy episode, array [episodes].

    Episode i starts from ``seed + i``, whichever copy plays it. Copies take episodes in turn; one
    that has ended its own takes the next, and is not stepped where there is none. Episodes that
    take more than ``limit`` steps count for what they gave until then, with a warning. None as soon
    as ``stop`` is not empty any more, in the middle of the episodes.
    """
    returns, cut = np.zeros(copies.episodes), 0
    numbers = iter(range(copies.episodes))

    def begun(envs):
        number = next(numbers, None)
        return [] if number is None else [_Episode(envs, number, seed, copies.dtype)]

    playing = [episode for envs in copies.envs for episode in begun(envs)]
    while playing:
        if stop:
            return None
        obs = np.stack([episode.obs for episode in playing])
        actions = copies.applied(np.asarray(policy.act(obs, greedy=True)))
        following = []
        for episode, action in zip(playing, actions, strict=True):
            episode.step(action)
            if episode.ended or episode.steps == limit:
                returns[episode.number] = episode.gained
                cut += not episode.ended
                following += begun(episode.envs)
            else:
                following.append(episode)
        playing = following
    if cut:
        warnings.warn(
            f"{cut} episodes of an evaluation must end within {limit} steps (evaluation_steps), "
            "not go on: they count for what they gave until then",
            RuntimeWarning,
            stacklevel=2,
        )
    return returns
