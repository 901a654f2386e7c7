"""Greedy episodes of a trained policy: their returns, and their pictures."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gymnasium.error import DependencyNotInstalled

from host.agents.evaluation import Copies, evaluate
from host.agents.policy_file import load_policy
from host.agents.registry import find
from host.cli.film import FILMS
from host.environments.environment_id import find_spec
from host.modules import check_trusted
from host.runs.run_folder import policy_of
from hw.errors import UsageError

__all__ = ["Played", "play"]

#: ``render`` -> gymnasium's mode
_MODES = {None: None, "human": "human"} | dict.fromkeys(FILMS, "rgb_array")

#: pictures a second, if the environment has no number
_RATE = 30


@dataclass(frozen=True)
class Played:
    """The result of ``play``: ``returns``, an array [episodes]; ``env``, the id of the policy's
    environment; ``file``, the path of the film, or None."""

    returns: np.ndarray
    env: str
    file: Path | None


def play(run, *, episodes, seed=0, render=None, limit=None, imports=(), copies=8):
    """Plays ``episodes`` greedy episodes of the best policy in the folder ``run``, or of the policy
    in the file ``run``; returns Played.

    Episode i starts from ``seed + i``, and ends after ``limit`` steps at the latest. ``render``
    "human" shows all episodes, one after the other; "gif" and "mp4" write the first one to a file
    evaluation.gif or evaluation.mp4 beside the policy's file, with a picture for each action, at
    the environment's own speed. ``imports`` are the modules that the file may name for its
    environment or algorithm.

    ValueError if there is no such file, or if the environment cannot be rendered so;
    CheckpointError as in ``load_policy``; MissingTool if a film needs a package that is not
    installed.
    """
    if render not in _MODES:
        raise UsageError(f"render must be human, gif or mp4, not {render!r}")
    path = policy_of(run)
    if not path.is_file():
        raise UsageError(f"RUN must be a run's folder or a policy's file, not {str(run)!r}")
    policy, info = load_policy(path, imports)
    env, mode = info["env"], _MODES[render]
    check_trusted(env, imports, path)
    if mode:
        _check_mode(env, mode, render)
    algorithm = find(info["algo"])
    file = path.with_name(f"evaluation.{render}") if render in FILMS else None
    made = Copies(env, 1 if mode else episodes, algorithm, mode, most=copies)
    with closing(made) as copies:
        if not mode:
            return Played(evaluate(policy, copies, seed=seed, limit=limit), env, None)
        returns, [envs] = [], copies.envs
        try:
            if file:
                with FILMS[render](file, envs.metadata.get("render_fps", _RATE)) as add:
                    filmed = _Filmed(policy, envs, add)
                    returns.append(evaluate(filmed, copies, seed=seed, limit=limit)[0])
            for i in range(len(returns), episodes):
                returns.append(evaluate(policy, copies, seed=seed + i, limit=limit)[0])
        except DependencyNotInstalled as error:
            raise UsageError(f"render must have its packages installed ({error})") from error
    return Played(np.array(returns), env, file)


def _check_mode(env, mode, render):
    """UsageError, with the modes that there are, unless ``env`` can be rendered so."""
    with closing(find_spec(env).make()) as made:
        modes = made.metadata.get("render_modes", ())
    if mode not in modes:
        ways = ", ".join(name for name, each in _MODES.items() if name and each in modes)
        rule = f"one of {ways}, which {env} can" if ways else f"none, for {env} cannot be rendered"
        raise UsageError(f"render must be {rule}, not {render!r}")


class _Filmed:
    """A policy that adds a picture of its environment to a film each time it acts."""

    def __init__(self, policy, envs, add):
        self._policy, self._envs, self._add = policy, envs, add

    def act(self, obs, *, greedy):
        self._add(np.asarray(self._envs.render()[0], np.uint8))
        return self._policy.act(obs, greedy=greedy)
