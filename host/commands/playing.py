"""Greedy episodes of a trained policy: what they return, and what they look like."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gymnasium.error import DependencyNotInstalled

from host.algorithms.policy_file import load_policy
from host.algorithms.registry import find
from host.collect.environment import evaluate, make_envs
from host.collect.environment_id import find_spec
from host.train.config import RunConfig

__all__ = ["Played", "play"]

#: ``render`` -> gymnasium's mode
_MODES = {None: None, "human": "human", "gif": "rgb_array"}

_FRAMES_A_SECOND = 30


@dataclass(frozen=True)
class Played:
    """``returns`` [episodes]; ``env``, the policy's; ``file``, the picture, or None."""

    returns: np.ndarray
    env: str
    file: Path | None


def play(run, *, episodes, seed=0, render=None, limit=RunConfig.evaluation_steps):
    """Greedy episodes of the best policy in the folder ``run``, or of the policy's file ``run``.

    Episode i starts from ``seed + i``, and ends after ``limit`` steps. ``render`` "human" shows all
    of them, one after the other; "gif" writes the first into ``evaluation.gif`` beside the policy.
    CheckpointError as of ``load_policy``; ValueError for what the environment cannot do.
    """
    if render not in _MODES:
        raise ValueError(f"render must be human or gif, not {render!r}")
    path = Path(run)
    path = path / "best.npz" if path.is_dir() else path
    policy, info = load_policy(path)
    env, mode = info["env"], _MODES[render]
    if mode and mode not in find_spec(env).make().metadata.get("render_modes", ()):
        raise ValueError(f"render must be of what {env} can, not {render}")
    algorithm = find(info["algo"])
    with closing(make_envs(env, 1 if mode else episodes, algorithm, mode)) as envs:
        if not mode:
            return Played(evaluate(policy, envs, seed=seed, limit=limit), env, None)
        film = _Film(policy, envs) if render == "gif" else None
        try:
            returns = [
                evaluate(policy if i or not film else film, envs, seed=seed + i, limit=limit)[0]
                for i in range(episodes)
            ]
        except DependencyNotInstalled as error:
            raise ValueError(f"render must have its packages installed ({error})") from error
    file = film and film.save(path.with_name("evaluation.gif"))
    return Played(np.array(returns), env, file)


class _Film:
    """A policy that keeps what its environment looks like each time it acts."""

    def __init__(self, policy, envs):
        self._policy, self._envs, self._frames = policy, envs, []

    def act(self, obs, *, greedy):
        self._frames.append(self._envs.render()[0])
        return self._policy.act(obs, greedy=greedy)

    def save(self, path):
        from PIL import Image  # matplotlib's

        first, *others = (Image.fromarray(np.asarray(frame, np.uint8)) for frame in self._frames)
        duration = 1000 // _FRAMES_A_SECOND
        first.save(path, save_all=True, append_images=others, duration=duration, loop=0)
        return path
