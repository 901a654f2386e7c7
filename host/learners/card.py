"""The learner on the card: draw, gradient step and new priorities without the host in between.

The host acts, brings experiences, and says of each step what the schedules say; it acts on a copy
of the weights, which comes back with a launch.
"""

import numpy as np

from host.runtime.hyperparameters import hyperparameter_records
from host.train.train_config import CARD_WIDTH

__all__ = ["CardLearner", "kernel_settings", "steps_of"]


def kernel_settings(config, observation_size, action_count):
    """``{field: value}`` of the ``LearnerConfig`` that a TrainConfig's agent needs; the others say
    how fast it learns, and with which arithmetic. ValueError if there is no such kernel."""
    agent = config.agent
    inputs = observation_size + (action_count if config.algo == "ddpg" else 0)
    if inputs > CARD_WIDTH:
        raise ValueError(
            f"env must have observations of at most {CARD_WIDTH - inputs + observation_size} "
            f"numbers on the card, not {observation_size} of {config.env!r} (learner cpu takes any)"
        )
    settings = {
        "algorithm": config.algo,
        "observation": observation_size,
        "action": action_count,
        "hidden": agent.hidden,
        "hidden_activation": agent.activation,
        "optimizer": agent.optimizer,
    }
    return settings | ({"double": agent.double} if config.algo == "dqn" else {})


def steps_of(agent, count):
    """HYPERPARAMETERS [count] of an agent's next updates: optimizer with Adam's bias corrections,
    its schedules as they are now, its targets.

    With Adam, ``w -= rate m / (sqrt(s) + floor)`` is the rule of ``host.algorithms.optimizer.Adam``
    at update t if ``rate = lr sqrt(1 - beta2^t) / (1 - beta1^t)`` and
    ``floor = epsilon sqrt(1 - beta2^t)``.
    """
    config = agent.config
    update = agent.updates + 1 + np.arange(count, dtype=np.float64)[:, None]
    rate, floor = np.tile(agent.learning_rates, (count, 1)), np.zeros((count, 2))
    decays = {}
    if config.optimizer == "sgd":
        decays = {"first_decay": config.momentum, "first_gain": 1.0}
    elif config.optimizer == "rmsprop":
        decays = {"second_decay": config.decay}
        floor += config.optimizer_epsilon
    else:
        decays = {"first_decay": config.beta1, "second_decay": config.beta2}
        root = np.sqrt(1 - config.beta2**update)
        rate = rate * root / (1 - config.beta1**update)
        floor += config.optimizer_epsilon * root
    due = update % config.target_interval == 0
    return hyperparameter_records(
        count,
        scale=1 / config.batch_size,
        beta=agent.beta,
        clip=config.huber_delta if config.loss == "huber" else np.inf,
        rate=np.broadcast_to(rate, (count, 2)),
        floor=floor,
        blend=np.broadcast_to(np.where(due, config.target_tau, 0.0), (count, 2)),
        **decays,
    )


class CardLearner:
    """An iteration is one launch of ``updates_per_launch`` gradient steps; members as
    ``CPULearner``'s.

    The agent's online networks are the host's copy of the weights, fetched every
    ``weights_interval`` launches; targets and moments of the optimizer are the card's alone. The
    card's weights start as the agent's.

    Parameters
    ----------
    config : TrainConfig
    agent : Agent
    buffer : LearningReplay
        ValueError if its kernel is of another algorithm or network.
    """

    def __init__(self, config, agent, buffer):
        self.config, self.agent, self.buffer = config, agent, buffer
        self._check_kernel()
        weights = {
            name: [(w.T, b) for w, b in zip(pair.online.weights, pair.online.biases, strict=True)]
            for name, pair in agent.networks.items()
        }
        buffer.initialize(weights)

    def _check_kernel(self):
        agent, learner = self.agent, self.buffer.learner
        wanted = kernel_settings(self.config, agent.observation_size, agent.action_count)
        for name, value in wanted.items():
            if getattr(learner, name) != value:
                raise ValueError(
                    f"{name} must be {getattr(learner, name)!r} as in the kernel, not {value!r}"
                )
        batch = agent.config.batch_size
        if batch > learner.batch or batch % learner.lanes:
            raise ValueError(
                f"batch_size must be a multiple of {learner.lanes} up to {learner.batch}, as in "
                f"the kernel, not {batch!r}"
            )

    def plan(self, learning):
        """HYPERPARAMETERS of the next launch, and the sets of parameters to fetch with it; None
        before learning."""
        # A launch draws from what was there before it.
        if not learning or len(self.buffer) < self.agent.config.batch_size:
            return None
        count, agent = self.config.updates_per_launch, self.agent
        launches = agent.updates // count + 1
        due = launches % self.config.weights_interval == 0
        return steps_of(agent, count), ("online",) if due else ()

    def launch(self, experiences, plan):
        if plan is None:
            return self.buffer.step(experiences)
        steps, sets = plan
        batch = self.agent.config.batch_size
        return self.buffer.learn(steps, batch_size=batch, experiences=experiences, store=sets)

    def finish(self, learned):
        if learned is None:
            return None, None
        reports, parameters = learned
        self.agent.updates += len(reports)
        if parameters is not None:
            self._take(parameters)
        batch = self.agent.config.batch_size
        return float(reports["loss"].mean()) / batch, reports["td"] / np.float32(batch)

    def _take(self, parameters):
        for name, pair in self.agent.networks.items():
            layers = zip(parameters[name], pair.online.weights, pair.online.biases, strict=True)
            for layer, weights, biases in layers:
                theirs = layer["online"]
                weights[...], biases[...] = theirs[0].T, theirs[1]

    @property
    def clipped(self):
        """Weights, activations, gradients clipped so far."""
        return self.buffer.saturations.tolist()

    def state_dict(self):
        """Nothing: what the card has learned is the buffer's to save."""
        return {}

    def load_state_dict(self, state):
        pass
