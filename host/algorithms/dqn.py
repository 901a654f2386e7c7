"""DQN: discrete actions, learned from prioritized batches."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Discrete

from host.algorithms.algorithm import Algorithm, by_table
from host.algorithms.autodiff import Updater, torch
from host.algorithms.config import TemporalDifferenceConfig
from host.algorithms.convolution import CONVOLUTIONS, ConvNet, convolutions_for
from host.algorithms.exploration import EpsilonConfig, epsilon_greedy
from host.algorithms.layers import Described
from host.algorithms.network import MLP
from host.algorithms.policy import Policy
from host.rules import Flag
from host.summaries import SUMMARIES
from hw.errors import UsageError

__all__ = ["DQN", "DQNConfig", "DQNPolicy", "DQNUpdater"]


@dataclass(frozen=True, kw_only=True)
class DQNConfig(EpsilonConfig, TemporalDifferenceConfig):
    """Deep Q-learning.

    ``y = r + discount Q'(s', a*)``, ``td = y - Q(s, a)``, where Q' is the target network. With
    ``double``, a* is the action with the largest Q(s', .) (van Hasselt et al., 2016), else the one
    with the largest Q'(s', .). The discount is 0 if the episode terminated.
    """

    #: Convolutions with ReLU before the hidden layers, filters:kernel:stride of each; None: 16:8:4
    #: and 32:4:2 for images of at least 36 x 36 pixels, 16:3:1 for smaller ones, none for vectors.
    convolutions: Annotated[tuple | None, CONVOLUTIONS] = None
    #: The network has a value and an advantage stream (Wang et al., 2016).
    dueling: Annotated[bool, Flag()] = False
    #: The online network picks the next action, the target network values it.
    double: Annotated[bool, Flag()] = True

    def __post_init__(self):
        super().__post_init__()
        if self.dueling and not self.hidden:
            raise UsageError(f"hidden must have a layer when dueling, not {self.hidden!r}")


class DQNPolicy(Policy):
    """``argmax Q``, or with chance epsilon any action."""

    ACTS, TD_ERRORS = "q", True

    def make_networks(self, rng):
        config, spec = self.config, self.spec
        options = dict(activation=config.activation, dueling=config.dueling, rng=rng)
        outputs, convolutions = spec.action_count, convolutions_for(config, spec)
        if spec.dtype == "float32" and not convolutions:  # the network that the card trains
            return {"q": MLP(spec.size, outputs, config.hidden, **options)}
        options |= dict(convolutions=convolutions, hidden=config.hidden)
        return {"q": ConvNet(spec, outputs, **options)}

    def described(self):
        return Described(self.networks["q"].described(), "q", {"q": []})

    def exploration_at(self, steps):
        return self.config.epsilon_at(steps)

    def choose(self, outputs, *, greedy=False, steps=0):
        actions = outputs.argmax(axis=1)
        if greedy:
            return actions
        return epsilon_greedy(actions, self.exploration_at(steps), self.spec, self.rng)

    def td_errors(self, records):
        """``r + discount max Q(s', .) - Q(s, a)``, float32 [rows]; Q is the network that acts."""
        value = self.predict(records["next_obs"]).max(axis=1)
        taken = self.predict(records["obs"])[np.arange(len(records)), records["action"]]
        return records["reward"] + records["discount"] * value - taken


class DQNUpdater(Updater):
    """The gradient steps of DQN: Q descends ``mean(weights * loss(td))``, with the td of DQNConfig
    (Mnih et al., 2015; double: van Hasselt et al., 2016)."""

    def update(self, batch, clock):
        batch, q = self.tensors(batch), self.networks["q"]
        with torch.no_grad():
            q_next = q.target(batch["next_obs"])
            chooser = q(batch["next_obs"]) if self.config.double else q_next
            value = q_next.gather(1, chooser.argmax(1, keepdim=True))[:, 0]
            wanted = batch["reward"] + batch["discount"] * value
        td = wanted - q(batch["obs"]).gather(1, batch["action"])[:, 0]
        errors = self.check_finite("td_errors", td, clock)
        loss = self.weighted_loss(td, batch["weights"])
        q.backward(loss)
        q.descend(self.config.learning_rate_at(clock.launched))
        self.synchronize(clock)
        return errors, {"loss": loss.item()}


#: As in MinAtar's paper (Young and Tian, 2019): the network, the memory, the steps before learning,
#: the batch, 1000 steps between target updates. Different: fewer gradient steps, each of which
#: learns more by double Q-learning, prioritized replay and Adam.
_MINATAR = dict(
    steps=500_000,
    env_count=4,
    capacity=100_000,
    learning_starts=5000,
    evaluation_interval_steps=20_000,
    evaluation_episodes=30,
    evaluation_steps=10_000,
    log_interval_steps=5000,
    agent=dict(
        hidden=(128,),
        n_step=3,
        batch_size=32,
        learning_rate=1e-3,
        learning_rate_final=1e-4,
        max_gradient_norm=None,
        target_interval=250,
        epsilon_share=0.08,
    ),
)

#: FA3C's network. An experience has 56 512 bytes, since ``obs`` and ``next_obs`` have 4 frames
#: each: 2^15 experiences are 1.85 GB, and a checkpoint is as large.
_ATARI = dict(
    steps=2_000_000,
    env_count=4,
    capacity=1 << 15,
    learning_starts=10_000,
    evaluation_interval_steps=100_000,
    evaluation_episodes=5,
    evaluation_steps=27_000,
    log_interval_steps=5000,
    checkpoint_interval_steps=200_000,
    checkpoint_interval_s=1800.0,
    agent=dict(
        hidden=(256,),
        n_step=3,
        reward_clip=1.0,
        batch_size=32,
        learning_rate=2.5e-4,
        max_gradient_norm=None,
        target_interval=500,
        epsilon_end=0.02,
        epsilon_share=0.125,
    ),
)

DQN = Algorithm(
    name="dqn",
    summary=SUMMARIES["dqn"],
    config=DQNConfig,
    policy=DQNPolicy,
    updater=DQNUpdater,
    actions=(Discrete,),
    columns={"loss": "weighted loss of the TD errors"},
    images=True,
    kernel=by_table,
    # Few gradient steps on much experience, values of the order of 1 for fixed point, and networks
    # that fit into a kernel.
    card=dict(
        steps=100_000,
        steps_per_launch=4,
        agent=dict(
            hidden=(64, 64),
            activation="tanh",
            n_step=10,
            reward_scale=0.1,
            batch_size=32,
            learning_rate=4e-3,
            max_gradient_norm=None,
            double=False,
            epsilon_share=0.08,
        ),
    ),
    environments={
        "ALE/": _ATARI,
        "MinAtar/": _MINATAR,
        "LunarLander-v3": dict(
            steps=500_000,
            capacity=1 << 17,
            evaluation_interval_steps=20_000,
            evaluation_episodes=50,
            agent=dict(
                hidden=(128, 128),
                n_step=3,
                reward_scale=0.05,
                learning_rate=1e-3,
                learning_rate_final=1e-4,
                max_gradient_norm=None,
                target_interval=250,
                epsilon_end=0.02,
                epsilon_share=0.12,
            ),
        ),
        "Acrobot-v1": dict(
            steps=60_000,
            env_count=4,
            evaluation_interval_steps=2000,
            evaluation_episodes=50,
            agent=dict(
                hidden=(64, 64),
                reward_scale=0.1,
                learning_rate=1e-3,
                learning_rate_final=1e-4,
                max_gradient_norm=None,
                target_interval=100,
                epsilon_share=1 / 6,
            ),
        ),
    },
    # As many gradient steps as on the CPU, several in a launch.
    card_environments={
        "LunarLander-v3": dict(steps_per_launch=8, updates_per_launch=8),
        "Acrobot-v1": dict(steps_per_launch=8, updates_per_launch=8),
    },
)
