"""PPO on the CPU, in torch: acts, and learns from rollouts whose advantages the card estimated."""

import numpy as np

from host.algorithms.agent import Agent
from host.algorithms.normalizer import Normalizer
from host.algorithms.ppo_config import PPOConfig
from host.algorithms.ppo_network import ActorCritic
from host.algorithms.torch_extra import torch

__all__ = ["PPO", "PPOConfig"]

#: of a minibatch's advantages, where they are normalized
_TINY = 1e-8


class PPO(Agent):
    """Proximal policy optimization agent (Schulman et al., 2017).

    Parameters
    ----------
    config : PPOConfig
    seed : int or numpy.random.SeedSequence
        Of the first weights, of actions and of minibatches.
    discrete : bool
        Actions are integers 0..action_count-1, or else vectors that are clipped to [-1, 1].

    Attributes
    ----------
    normalizer : Normalizer or None
        Of the observations, as ``normalize_observations`` says: what it knows is of all that
        ``sample`` has acted on, and is a part of the policy.
    """

    CONFIG = PPOConfig

    def __init__(self, config, *, seed, discrete, **sizes):
        super().__init__(config, **sizes)
        if not isinstance(seed, np.random.SeedSequence):
            seed = np.random.SeedSequence(seed)
        weights, random = (int(x) for x in seed.generate_state(2, np.uint64) >> np.uint64(1))
        self.discrete = discrete
        normalizes = config.normalize_observations
        self.normalizer = Normalizer(self.observation_size) if normalizes else None
        with torch.random.fork_rng(devices=[]):  # torch's initialisers know no other generator
            torch.manual_seed(weights)
            self.network = ActorCritic(config, discrete=discrete, **sizes)
        self.optimizer = torch.optim.Adam(self.network.parameters(), eps=config.optimizer_epsilon)
        self._generator = torch.Generator().manual_seed(random)

    @property
    def sizes(self):
        return super().sizes | {"discrete": self.discrete}

    def _seen(self, obs):
        """What the networks see of obs [rows, observation_size]."""
        obs = self.checked(obs)
        return torch.from_numpy(obs if self.normalizer is None else self.normalizer(obs))

    @torch.no_grad()
    def predict(self, obs):
        """Logits, or means of actions, [rows, action_count] of obs [rows, observation_size]."""
        return self.network.actor(self._seen(obs)).numpy()

    @torch.no_grad()
    def value(self, obs):
        """The critic's values, float32 [rows]."""
        return self.network.value(self._seen(obs)).numpy()

    @torch.no_grad()
    def sample(self, obs):
        """``(what the networks saw, action, log probability, value)`` of each row of a vector step
        in training; it counts ``rows`` environment steps, and the observations before it normalizes
        them.

        Not greedy, and not clipped: see ``applied``.
        """
        if self.normalizer is not None:
            self.normalizer.update(self.checked(obs))
        seen = self._seen(obs)
        distribution, action = self._drawn(seen)
        results = seen, action, distribution.log_probability(action), self.network.value(seen)
        return tuple(tensor.numpy() for tensor in results)

    def _drawn(self, seen):
        distribution = self.network.distribution(seen)
        self.steps += len(seen)
        return distribution, distribution.sample(self._generator)

    def applied(self, action):
        """What the environment gets of an action."""
        return action if self.discrete else np.clip(action, -1, 1)

    @torch.no_grad()
    def act(self, obs, *, greedy=False):
        """Actions for the environment, the likeliest ones if greedy; else drawn, which counts
        ``rows`` environment steps. Observations are not counted."""
        if not greedy:
            return self.applied(self._drawn(self._seen(obs))[1].numpy())
        output = self.predict(obs)
        return output.argmax(axis=1) if self.discrete else self.applied(output)

    def learn(self, rollout, advantages, returns):
        """Some epochs of minibatches.

        Parameters
        ----------
        rollout : Rollout
        advantages, returns : float32 arrays [steps, envs]

        Returns
        -------
        dict
            Column of progress.csv -> mean over the minibatches; ``explained_variance`` is
            ``1 - Var(returns - values) / Var(returns)`` before learning.

        ValueError, before the step, if a loss is not finite.
        """
        arrays = {
            name: getattr(rollout, name) for name in ("obs", "action", "log_probability", "value")
        } | {"advantage": advantages, "return": returns}
        data = {name: torch.from_numpy(_flat(array)) for name, array in arrays.items()}
        measured = self._epochs(data)
        means = {name: float(np.mean([each[name] for each in measured])) for name in measured[0]}
        spread = float(np.var(returns))
        left = float(np.var(returns - rollout.value))
        return means | {"explained_variance": 1 - left / spread if spread else None}

    def _epochs(self, data):
        config, rate, measured = self.config, self.learning_rate, []
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        for _ in range(config.epochs):
            order = torch.randperm(len(data["obs"]), generator=self._generator)
            for rows in order.split(config.batch_size):
                batch = {name: tensor[rows] for name, tensor in data.items()}
                loss, values = self.losses(batch)
                measured.append(values)
                self._check_finite(values["loss"])
                if config.target_kl is not None and values["kl"] > 1.5 * config.target_kl:
                    return measured
                self._descend(loss)
        return measured

    def losses(self, batch):
        """``(loss, dict of what it is made of)`` of a minibatch of tensors [rows, ...]."""
        config, advantage = self.config, batch["advantage"]
        if config.normalize_advantages and len(advantage) > 1:
            advantage = (advantage - advantage.mean()) / (advantage.std() + _TINY)
        distribution = self.network.distribution(batch["obs"])
        logarithm = distribution.log_probability(batch["action"]) - batch["log_probability"]
        ratio = logarithm.exp()
        clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
        policy = -torch.minimum(advantage * ratio, advantage * clipped).mean()
        value = self._value_loss(batch)
        entropy = distribution.entropy().mean()
        loss = policy + config.value_coefficient * value - config.entropy_coefficient * entropy
        with torch.no_grad():
            parts = {
                "loss": loss,
                "policy_loss": policy,
                "value_loss": value,
                "entropy": entropy,
                # Unbiased, and never negative (Schulman, Approximating KL Divergence, 2020).
                "kl": (ratio - 1 - logarithm).mean(),
                "clip_fraction": ((ratio - 1).abs() > config.clip).float().mean(),
            }
        return loss, {name: part.item() for name, part in parts.items()}

    def _value_loss(self, batch):
        value, limit = self.network.value(batch["obs"]), self.config.value_clip
        error = (value - batch["return"]) ** 2
        if limit is not None:
            near = batch["value"] + (value - batch["value"]).clamp(-limit, limit)
            error = torch.maximum(error, (near - batch["return"]) ** 2)
        return error.mean()

    def _check_finite(self, loss):
        if not np.isfinite(loss):
            raise ValueError(
                f"loss must be finite, not {loss} (minibatch {self.updates}; learning_rate "
                f"{self.learning_rate:g} may be too high, or an observation or reward is not "
                "finite)"
            )

    def _descend(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        if self.config.max_gradient_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.config.max_gradient_norm)
        self.optimizer.step()
        self.updates += 1

    @property
    def parameters(self):
        """name -> array of the network, and of what normalizes its observations."""
        known = {} if self.normalizer is None else self.normalizer.arrays
        return {name: tensor.numpy() for name, tensor in self.network.state_dict().items()} | known

    def load_parameters(self, parameters):
        own = self.parameters
        known = {name: list(mine.shape) for name, mine in own.items()}
        for name, array in parameters.items():
            if name not in own or own[name].shape != array.shape:
                raise ValueError(f"parameters must be {known}, not {name} {list(array.shape)}")
        for name in own.keys() - parameters.keys():
            raise ValueError(f"parameters must be {known}, not without {name}")
        if self.normalizer is not None:
            self.normalizer.load_arrays(parameters)
        tensors = {name: torch.from_numpy(parameters[name]) for name in self.network.state_dict()}
        self.network.load_state_dict(tensors)

    def state_dict(self):
        """Everything that the next action and the next update depend on."""
        moments = self.optimizer.state_dict()["state"]
        return {
            "parameters": {name: array.copy() for name, array in self.parameters.items()},
            "moments": [
                {name: tensor.numpy().copy() for name, tensor in moments[i].items()}
                for i in sorted(moments)
            ],
            "random": self._generator.get_state().numpy().copy(),
            "steps": self.steps,
            "updates": self.updates,
        }

    def load_state_dict(self, state):
        self.load_parameters(state["parameters"])
        own = self.optimizer.state_dict()
        own["state"] = {
            i: {name: torch.from_numpy(np.array(array)) for name, array in moments.items()}
            for i, moments in enumerate(state["moments"])
        }
        self.optimizer.load_state_dict(own)
        self._generator.set_state(torch.from_numpy(state["random"]))
        self.steps, self.updates = int(state["steps"]), int(state["updates"])


def _flat(array):
    """[steps, envs, ...] as [steps * envs, ...]."""
    return np.ascontiguousarray(array.reshape(-1, *array.shape[2:]))
