"""Agents as libraries train them, with the hyperparameters of a run: DQN and DDPG of
stable-baselines3, DQN of RLlib, which has no DDPG.

Both are called as their users call them, in this process, without workers and without a GPU. A
launch has the environment steps and the gradient steps of one of rlfabric's. Each library is a
class with the same methods as ``host.compose.trial.Trial``; ``PACKAGE`` is what pip installs;
``ALGORITHMS`` names the algorithms that it can train.
"""

import time

import numpy as np

from bench.learning.peers import ddpg, dqn
from hw.errors import Failure

__all__ = ["LIBRARIES", "Rllib", "Sb3"]

#: Launches until a gradient step must have been made.
_PATIENCE = 1000
#: Launches of RLlib from one report to the next, each of which takes some of its time.
_REPORT = 10


class _Library:
    """The base class: gradient steps of a run, counted and timed."""

    def warm(self, launches):
        """Trains until there was a gradient step, and then for ``launches`` more. Failure if there
        is none for long."""
        for _ in range(_PATIENCE):
            if self._updates():
                break
            self._train(1)
        else:
            raise Failure(f"{self.NAME} must learn within {_PATIENCE} launches, not without end")
        self._train(launches)

    def elapsed(self, launches):
        """``(microseconds, updates)`` of ``launches`` launches: processor time of all threads of
        this process, and gradient steps."""
        begin, before = time.process_time(), self._updates()
        self._train(launches)
        return (time.process_time() - begin) * 1e6, self._updates() - before


class Sb3(_Library):
    """stable-baselines3's DQN or DDPG, with the OffPolicyConfig ``config``. It draws uniformly.
    ImportError if it is not installed."""

    NAME, PACKAGE = "stable-baselines3", "stable-baselines3"
    ALGORITHMS = ("dqn", "ddpg")

    def __init__(self, config):
        import stable_baselines3
        from stable_baselines3.common.env_util import make_vec_env
        from stable_baselines3.common.noise import NormalActionNoise

        plan = {"dqn": dqn, "ddpg": ddpg}[config.algo](config)
        self._steps = config.env_count * config.steps_per_launch
        self._envs = make_vec_env(config.env, config.env_count, seed=config.seed)
        arguments = dict(seed=config.seed, device="cpu", **plan.arguments)
        if plan.noise:
            _, deviation = plan.noise
            size = self._envs.action_space.shape
            arguments["action_noise"] = NormalActionNoise(np.zeros(size), np.full(size, deviation))
        kind = getattr(stable_baselines3, plan.algorithm)
        self._model = kind("MlpPolicy", self._envs, **arguments)

    def _train(self, launches):
        steps = launches * self._steps
        self._model.learn(steps, reset_num_timesteps=False, log_interval=None)

    def _updates(self):
        return self._model._n_updates

    def close(self):
        self._envs.close()


class Rllib(_Library):
    """RLlib's DQN, with the OffPolicyConfig ``config``. It draws by priority, and takes about 36
    environment steps where the others take 32. ImportError if it is not installed."""

    NAME, PACKAGE, ALGORITHMS = "RLlib", "ray[rllib]", ("dqn",)

    def __init__(self, config):
        import ray
        from ray.rllib.algorithms.dqn import DQNConfig
        from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
        agent, steps = config.agent, config.env_count * config.steps_per_launch
        network = DefaultModelConfig(
            fcnet_hiddens=list(agent.hidden),
            fcnet_activation=agent.activation,
            head_fcnet_hiddens=[],
        )
        memory = {
            "type": "PrioritizedEpisodeReplayBuffer",
            "capacity": config.capacity,
            "alpha": config.alpha,
            "beta": agent.beta_start,
        }
        self._ray, self._batch, self._trained = ray, agent.batch_size, 0
        self._algorithm = (
            DQNConfig()
            .environment(config.env)
            .env_runners(
                num_env_runners=0,
                num_envs_per_env_runner=config.env_count,
                rollout_fragment_length=config.steps_per_launch,
            )
            .learners(num_learners=0)
            .rl_module(model_config=network)
            .training(
                train_batch_size_per_learner=agent.batch_size,
                lr=agent.learning_rate,
                gamma=agent.gamma,
                n_step=agent.n_step,
                double_q=agent.double,
                dueling=agent.dueling,
                epsilon=agent.epsilon_end,
                target_network_update_freq=agent.target_interval * steps,
                num_steps_sampled_before_learning_starts=config.learning_starts,
                replay_buffer_config=memory,
            )
            .reporting(
                min_time_s_per_iteration=0, min_sample_timesteps_per_iteration=_REPORT * steps
            )
            .debugging(seed=config.seed, log_level="ERROR")
            .build_algo()
        )

    def _train(self, launches):
        for _ in range(-(-launches // _REPORT)):
            learners = self._algorithm.train().get("learners", {})
            policy = learners.get("default_policy", {})
            self._trained = policy.get("num_module_steps_trained_lifetime", self._trained)

    def _updates(self):
        return round(self._trained / self._batch)

    def close(self):
        self._algorithm.stop()
        self._ray.shutdown()


LIBRARIES = (Sb3, Rllib)
