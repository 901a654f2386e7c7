"""Greedy episodes, each with its own seed, on a few copies of an environment."""

import warnings

import numpy as np
from gymnasium.vector import SyncVectorEnv

from host.environments.border import Border, received
from host.environments.environment import make_envs
from host.environments.spec import Spec
from host.rules import plain
from hw.config import check_range

__all__ = ["Copies", "check_limit", "evaluate"]

#: most copies of an environment: acting takes almost the same time for so many rows as for one
_MOST = 8
#: steps after which an evaluation that has seen no episode end says so, if it has a limit
_LONG = 10_000
#: limits by default: if an episode has ever ended, and if none has
_LIMIT, _ENDLESS = 100_000, 2_000
#: steps of a copy from one call of ``progress`` to the next
_SHOWN = 200


class Copies:
    """Copies of an environment, on which ``evaluate`` plays ``episodes`` episodes. Each copy is
    stepped by itself; there are as many copies as episodes, but at most 8.

    Parameters
    ----------
    env, algorithm, render_mode
        As for ``make_envs``, with the same errors.
    episodes : int
        Episodes of an evaluation.
    envs : list of VectorEnv, optional
        Vector environments of one environment each that play instead, and that are not closed.
    most : int
        Most copies.

    Attributes
    ----------
    envs : list of gymnasium.vector.VectorEnv
        The copies, vector environments with one environment each.
    first : array [rows, ...] or None
        First observations of episodes of the last evaluation; None before the first.
    """

    def __init__(self, env, episodes, algorithm, render_mode=None, *, envs=None, most=_MOST):
        self.episodes, self.envs, self.first = episodes, [], None
        self.ended = False  # whether an episode ever has, also in training, which sets it
        self.told = False  # whether its absence was
        self._own = envs is None
        if envs is not None:
            self.envs, self.spec = envs, Spec.of(envs[0])
            return
        try:
            for _ in range(min(episodes, most)):
                self.envs.append(make_envs(env, 1, algorithm, render_mode))
        except BaseException:
            self.close()
            raise
        for number, envs in enumerate(self.envs):
            if isinstance(envs, SyncVectorEnv) and isinstance(envs.envs[0], Border):
                envs.envs[0].who = f"environment {number} of the evaluation"
        self.spec = Spec.of(self.envs[0])

    def close(self):
        for envs in self.envs if self._own else ():
            envs.close()


class _Game:
    """The one environment of a vector, with ``reset`` and ``step`` as of gymnasium.Env."""

    def __init__(self, envs):
        self._envs = envs

    def reset(self, seed):
        obs, info = self._envs.reset(seed=seed)
        return obs[0], info

    def step(self, action):
        """As gymnasium.Env, but the observation after the last step is that of the next episode."""
        obs, *numbers, info = self._envs.step(np.array([action]))
        return obs[0], *(array[0] for array in numbers), info


class _Episode:
    """Episode ``number``, with seed ``seed + number``, on one of the Copies."""

    def __init__(self, envs, number, seed, spec):
        self.envs, self.number = envs, number
        self._dtype, self._shape = np.dtype(spec.dtype), spec.shape
        # The environment without its vector, which takes as long as the step of a fast environment.
        self._game = envs.envs[0] if isinstance(envs, SyncVectorEnv) else _Game(envs)
        obs, _ = self._game.reset(seed=seed + number)
        self.gained, self.steps, self.ended = 0.0, 0, False
        self.obs = self._received(obs)

    def step(self, action):
        obs, reward, terminated, truncated, _ = self._game.step(action)
        self.gained += float(reward)
        self.steps += 1
        self.ended = bool(terminated or truncated)
        self.obs = self._received(obs)

    def _received(self, obs):
        return received(obs, "observations", self._dtype, self._shape, self._place)

    def _place(self, position):
        number = f"number {', '.join(map(str, position))}, " if position else ""
        return f" (episode {self.number} of the evaluation, {number}step {self.steps})"


def _warn_of_endless(episode, limit, copies):
    """Says once that no episode ends."""
    copies.told = True
    then = f"it goes on to {limit} steps (evaluation_steps)"
    if limit is None:
        then = f"as long as none does, each is broken off after {_ENDLESS} (evaluation_steps)"
    warnings.warn(
        f"episode {episode.number} of the evaluation must end, not go on after {episode.steps} "
        f"steps, in which no other has ended: {then}",
        RuntimeWarning,
        stacklevel=3,
    )


def check_limit(limit):
    """``limit`` of ``evaluate`` as Python's integer or None; UsageError unless it is at least 1."""
    limit = plain(limit)
    if limit is not None:
        check_range("limit", limit, 1, 1 << 40)
    return limit


def evaluate(policy, copies, *, seed, limit=None, stop=(), progress=None):
    """Plays ``copies.episodes`` greedy episodes of ``policy``; returns their returns, [episodes].

    Episode i starts from ``seed + i``, whichever of the Copies plays it. A copy whose episode has
    ended plays the next episode that nobody has begun; once all have begun, it is not stepped any
    more. If an episode has not ended after ``limit`` steps, its return sums the rewards so far,
    with a RuntimeWarning; None: after 100 000 steps, but after 2 000 as long as no episode has ever
    ended (``copies.ended``). If none has after 2 000 steps, or with a limit after 10 000, another
    RuntimeWarning says so at once. As soon as another function appends to the list ``stop``,
    evaluation ends in the middle of its episodes and returns None. ``progress(ended, steps)`` is
    called now and then with the number of episodes that have ended and the steps of a copy.
    """
    limit = check_limit(limit)
    returns, cut, ended, steps = np.zeros(copies.episodes), {}, 0, 0
    numbers = iter(range(copies.episodes))

    def begun(envs):
        number = next(numbers, None)
        return [] if number is None else [_Episode(envs, number, seed, copies.spec)]

    playing = [episode for envs in copies.envs for episode in begun(envs)]
    copies.first = np.stack([episode.obs for episode in playing])
    while playing:
        if stop:
            return None
        steps += 1
        if progress is not None and steps % _SHOWN == 0:
            progress(ended, steps)
        obs = np.stack([episode.obs for episode in playing])
        actions = copies.spec.applied(np.asarray(policy.act(obs, greedy=True)))
        following = []
        for episode, action in zip(playing, actions, strict=True):
            episode.step(action)
            copies.ended |= episode.ended
            most = limit or (_LIMIT if copies.ended else _ENDLESS)
            late = episode.steps == (_ENDLESS if limit is None else _LONG) != limit
            if late and not (copies.ended or copies.told):
                _warn_of_endless(episode, limit, copies)
            if episode.ended or episode.steps >= most:
                returns[episode.number] = episode.gained
                ended += 1
                if not episode.ended:
                    cut[most] = cut.get(most, 0) + 1
                following += begun(episode.envs)
            else:
                following.append(episode)
        playing = following
    if cut:
        (most, count), *more = cut.items()
        others = "".join(f", {count} within {most} steps" for most, count in more)
        warnings.warn(
            f"{count} episodes of an evaluation must end within {most} steps{others} "
            "(evaluation_steps), not go on: their returns are those of these steps",
            RuntimeWarning,
            stacklevel=2,
        )
    return returns
