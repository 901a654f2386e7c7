"""A peer's run by stable-baselines3, which ends, is judged and continues as rlfabric's own runs.

The run's config decides how often it is evaluated, and with how many episodes; the best policy is
kept. Actions are in [-1, 1], as for rlfabric's agents. Its files are ``model.zip`` and
``replay.pkl``, the state at the beginning of a rollout; ``state.json``, the curve until then; and
``best.zip``. A run that continues unpickles these files, so they must be your own.
"""

import json
import os
import time
from pathlib import Path

import numpy as np
import stable_baselines3
import torch
from gymnasium.spaces import Box
from gymnasium.wrappers import RescaleAction, TransformReward
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.noise import NormalActionNoise, OrnsteinUhlenbeckActionNoise
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from bench.learning.job import JUDGING_SEED
from host.algorithms.convolution import default_convolutions
from host.checkpoint import write_text
from host.environments.environment_id import find_spec, reward_threshold
from host.environments.minatar import MinAtarEnv, is_minatar
from host.environments.spec import Spec
from host.runs.progress_bar import progress_bar

__all__ = ["environments", "library_run", "new_model", "updates_of"]

#: environments of an evaluation: acting takes as long for one as for so many
_TOGETHER = 8

_NOISES = {"normal": NormalActionNoise, "ornstein-uhlenbeck": OrnsteinUhlenbeckActionNoise}


def library_run(job, *, resume, console, stop):
    """Performs the run of ``job`` by stable-baselines3, and returns its result.

    The result is a dict that ``bench.learning.job.Job.end`` takes: ``mean_return``, ``steps``,
    ``updates``, ``seconds`` and ``curve``. It is None if the list ``stop`` is not empty when a
    rollout begins: then the run is saved, and the same call with ``resume`` continues it. Progress
    is shown on ``console``.
    """
    torch.set_num_threads(1)
    config, plan, folder = job.config, job.plan, Path(job.folder)
    model, state = _model(config, plan, folder, resume)
    with progress_bar(console) as bar:
        watch = _Watch(config, plan, folder, state, stop, bar)
        if not state["solved"] and model.num_timesteps < plan.steps:
            left = plan.steps - model.num_timesteps
            model.learn(left, callback=watch, reset_num_timesteps=False)
        if watch.ended:
            return None
        if state["best"] is None:
            watch.evaluate(model)
        watch.save(model)
    mean = state["confirmed"]
    if mean is None or job.episodes is not None:
        best = type(model).load(folder / "best.zip", device="cpu")
        mean = _mean(best, config, JUDGING_SEED, job.episodes or config.evaluation_episodes)
    return {
        "mean_return": mean,
        "steps": model.num_timesteps,
        "updates": updates_of(model),
        "seconds": round(state["seconds"], 3),
        "curve": state["curve"],
    }


def _model(config, plan, folder, resume):
    """The model and the state of ``_Watch``: new, or as they were saved."""
    kind = getattr(stable_baselines3, plan.algorithm)
    envs = environments(config.env, plan.env_count, config.seed)
    if resume and (folder / "state.json").exists():
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        model = kind.load(folder / "model.zip", envs, device="cpu")
        model.set_random_seed(config.seed + state["steps"])
        if (folder / "replay.pkl").exists():
            model.load_replay_buffer(folder / "replay.pkl")
        return model, state
    for name in ("state.json", "model.zip", "replay.pkl", "best.zip"):
        (folder / name).unlink(missing_ok=True)
    model = new_model(plan, envs, config.seed)
    state = dict(steps=0, curve=[], best=None, solved=False, confirmed=None, seconds=0.0, tries=0)
    return model, state


def new_model(plan, envs, seed):
    """The model of the PeerPlan ``plan`` on ``envs``, whose weights, draws and exploration follow
    from ``seed``."""
    arguments = dict(plan.arguments)
    if len(envs.observation_space.shape) == 3:
        own = arguments.get("policy_kwargs", {})
        arguments["policy_kwargs"] = own | {"features_extractor_class": Planes}
    for name in ("learning_rate", "clip_range"):
        if isinstance(arguments.get(name), list):
            arguments[name] = _Falling(*arguments[name])
    if plan.noise:
        name, deviation = plan.noise
        size = envs.action_space.shape
        arguments["action_noise"] = _NOISES[name](np.zeros(size), np.full(size, deviation))
    kind = getattr(stable_baselines3, plan.algorithm)
    return kind("MlpPolicy", envs, seed=seed, device="cpu", **arguments)


class Planes(BaseFeaturesExtractor):
    """The default convolutions of rlfabric's agents, for planes that are too small for
    stable-baselines3's own."""

    def __init__(self, space):
        convolutions = default_convolutions(Spec(space.shape, "uint8", True, 1))
        modules, channels = [], space.shape[2]
        for filters, kernel, stride in convolutions:
            modules += [nn.Conv2d(channels, filters, kernel, stride), nn.ReLU()]
            channels = filters
        network = nn.Sequential(*modules, nn.Flatten())
        super().__init__(space, network(torch.zeros(1, *space.shape).movedim(3, 1)).shape[1])
        self.network = network

    def forward(self, observations):
        return self.network(observations.movedim(3, 1))


class _Falling:
    """A learning rate or clip range from ``first`` to ``last`` in a ``share`` of all steps, which
    can be pickled."""

    def __init__(self, first, last, share):
        self.first, self.last, self.share = first, last, share

    def __call__(self, left):
        return self.first + (self.last - self.first) * min(1, (1 - left) / self.share)


def environments(env, count, seed, *, rescaled=True, reward_scale=1.0):
    """stable-baselines3's vector of ``count`` environments called ``env``. With ``rescaled``,
    actions are in [-1, 1]; else they are the environment's own. Rewards have the factor
    ``reward_scale``."""
    spec = find_spec(env)  # it also registers the environments of installed packages

    def wrapped(env):
        env = MinAtarEnv(env) if is_minatar(spec) else env
        if reward_scale != 1:
            env = TransformReward(env, lambda reward: reward * reward_scale)
        rescales = rescaled and isinstance(env.action_space, Box)
        return RescaleAction(env, -1, 1) if rescales else env

    return make_vec_env(env, count, seed=seed, wrapper_class=wrapped)


def _mean(model, config, seed, episodes):
    envs = environments(config.env, min(episodes, _TOGETHER), seed)
    try:
        return float(evaluate_policy(model, envs, episodes)[0])
    finally:
        envs.close()


def updates_of(model):
    """Gradient steps: PPO counts epochs."""
    if not hasattr(model, "n_epochs"):
        return model._n_updates
    return model._n_updates * (model.n_steps * model.n_envs // model.batch_size)


class _Watch(BaseCallback):
    """Evaluates, keeps the best policy, saves now and then, and ends the training when it is solved
    or was asked to stop (``ended``)."""

    def __init__(self, config, plan, folder, state, stop, bar):
        super().__init__()
        self._config, self._folder, self._state, self._stop = config, folder, state, stop
        own = config.threshold
        self._threshold = reward_threshold(config.env) if own is None else own
        self._bar, self._task = bar, bar.add_task(config.env, total=plan.steps, state="")
        self._every = config.evaluation_interval_steps
        self._evaluated, self.ended = state["steps"], False
        self._saved = self._counted = time.monotonic()

    def _on_rollout_start(self):
        """Saves here, since within a rollout the state is incomplete."""
        self.ended = bool(self._stop)
        if self.ended or time.monotonic() - self._saved > self._config.checkpoint_interval_s:
            self.save(self.model)

    def _on_step(self):
        steps, state = self.num_timesteps, self._state
        if steps // self._every > self._evaluated // self._every and not self.ended:
            self.evaluate(self.model)
        best = "-" if state["best"] is None else f"{state['best']:.0f}"
        self._bar.update(self._task, completed=steps, state=f"best greedy {best}")
        return not (self.ended or state["solved"])

    def evaluate(self, model):
        """Adds a point to the curve, keeps the best policy, and confirms a solution on other
        episodes."""
        state, self._evaluated = self._state, model.num_timesteps
        mean = self._fresh(model)
        state["curve"].append((model.num_timesteps, mean))
        confirmed = None
        if self._config.until_solved and mean >= self._threshold:
            confirmed = self._fresh(model)
            state["solved"] = confirmed >= self._threshold
        if state["solved"]:
            state["confirmed"] = confirmed
        if state["solved"] or state["best"] is None or mean >= state["best"]:
            state["best"] = mean
            _replace(self._folder / "best.zip", model.save)

    def _fresh(self, model):
        """Mean return of episodes that no other evaluation has."""
        config, self._state["tries"] = self._config, self._state["tries"] + 1
        sequence = np.random.SeedSequence(config.seed, spawn_key=(self._state["tries"],))
        seed = int(sequence.generate_state(1)[0]) >> 1
        return _mean(model, config, seed, config.evaluation_episodes)

    def save(self, model):
        """Writes the state, from which another call of ``library_run`` continues."""
        now = time.monotonic()
        self._state["seconds"] += now - self._counted
        self._counted, self._state["steps"] = now, model.num_timesteps
        _replace(self._folder / "model.zip", model.save)
        if hasattr(model, "save_replay_buffer"):
            _replace(self._folder / "replay.pkl", model.save_replay_buffer)
        write_text(self._folder / "state.json", json.dumps(self._state) + "\n")
        self._saved = time.monotonic()


def _replace(path, save):
    """``save(path)``, whole or not at all."""
    beside = path.with_name(f"partial-{path.name}")
    save(beside)
    os.replace(beside, path)
