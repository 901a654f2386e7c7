"""What every agent is, and what those with target networks are: networks in training, the clock of
its schedules, its random stream."""

import numpy as np

from host.algorithms.pair import Pair

__all__ = ["Agent", "TemporalDifferenceAgent"]


class Agent:
    """Acts and learns; knows neither the environment nor where its experience comes from.

    A subclass has ``act(obs, greedy=False)``, ``predict(obs)``, ``parameters`` (name -> array, of
    which ``load_parameters`` makes the same policy), ``state_dict`` and ``load_state_dict``, and
    names its config's class in ``CONFIG``.

    Parameters
    ----------
    config : AgentConfig
    observation_size, action_count : int
        Numbers of an observation; actions to choose from, or components of a continuous one.

    Attributes
    ----------
    steps : int
        Environment steps acted in so far; the schedules' clock.
    updates : int
        Batches learned from.
    """

    CONFIG = None

    def __init__(self, config, *, observation_size, action_count):
        self.config = config
        self.observation_size, self.action_count = observation_size, action_count
        self.steps = self.updates = 0
        self._learning_rate = config.learning_rate_schedule

    @property
    def sizes(self):
        """What an agent is made with, apart from config and seed."""
        return {"observation_size": self.observation_size, "action_count": self.action_count}

    @property
    def learning_rate(self):
        return self._learning_rate(self.steps)

    def checked(self, obs):
        """``obs`` as float32 [rows, observation_size]; ValueError for another shape."""
        obs = np.asarray(obs, np.float32)
        if obs.ndim != 2 or obs.shape[1] != self.observation_size:
            raise ValueError(f"obs must be [rows, {self.observation_size}], not {list(obs.shape)}")
        return obs


class TemporalDifferenceAgent(Agent):
    """Learns from batches of experience, with target networks.

    A subclass has ``learn_batch(batch)`` and ``exploration`` (how much it explores now), and names
    what ``act`` follows in ``POLICY``.

    Parameters
    ----------
    config : TemporalDifferenceConfig
    seed : int or numpy.random.SeedSequence
        Of the first weights and of exploration.

    Attributes
    ----------
    networks : dict of str to Pair
        In the order in which a learner on the card has them.
    """

    POLICY = None

    def __init__(self, config, *, seed, **sizes):
        super().__init__(config, **sizes)
        sequence = (
            seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        )
        weights, exploration = (np.random.default_rng(s) for s in sequence.spawn(2))
        self.rng = exploration
        self.networks = {
            name: Pair(config, make) for name, make in self.make_networks(weights).items()
        }
        self._beta = config.beta

    def make_networks(self, rng):
        """name -> what makes the network, drawing its weights from ``rng``."""
        raise NotImplementedError

    @property
    def policy(self):
        """The network that ``act`` follows."""
        return self.networks[self.POLICY].online

    @property
    def beta(self):
        """Exponent of the importance weights now."""
        return self._beta(self.steps)

    @property
    def learning_rates(self):
        """Step size of each network now, in the order of ``networks``."""
        return (self.learning_rate,)

    def predict(self, obs):
        """The policy network's outputs [rows, action_count] of obs [rows, observation_size]."""
        return self.policy.forward(self.checked(obs)).copy()

    def check_finite(self, td):
        """Raise ValueError, naming the row, unless every TD error is finite."""
        if not np.isfinite(td).all():
            row = int(np.flatnonzero(~np.isfinite(td))[0])
            raise ValueError(
                f"td_errors must be finite, not {td[row]} (row {row} of batch {self.updates}; "
                f"learning_rate {self.learning_rate:g} may be too high, or an observation or "
                "reward is not finite)"
            )

    def descend(self):
        """One optimizer step of every network along its gradient, then the targets' share."""
        for pair, rate in zip(self.networks.values(), self.learning_rates, strict=True):
            pair.descend(rate)
        self.updates += 1
        if self.updates % self.config.target_interval == 0:
            for pair in self.networks.values():
                pair.synchronize()

    @property
    def parameters(self):
        """name -> its online network's parameters."""
        return {name: pair.online.parameters for name, pair in self.networks.items()}

    def load_parameters(self, parameters):
        for name, pair in self.networks.items():
            pair.online.parameters[...] = pair.target.parameters[...] = parameters[name]

    def state_dict(self):
        """Everything that the next action and the next update depend on."""
        return {
            "networks": {name: pair.state_dict() for name, pair in self.networks.items()},
            "rng": self.rng.bit_generator.state,
            "steps": self.steps,
            "updates": self.updates,
        }

    def load_state_dict(self, state):
        for name, pair in self.networks.items():
            pair.load_state_dict(state["networks"][name])
        self.rng.bit_generator.state = state["rng"]
        self.steps, self.updates = int(state["steps"]), int(state["updates"])
