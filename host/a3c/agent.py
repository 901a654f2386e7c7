"""A3C: actors that share a network, each trained by its own rollout (Mnih et al., 2016; FA3C)."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Discrete

from host.a3c.round_tasks import Infer, Sync, Train
from host.algorithms.actor_critic import draw_by_logits, log_softmax
from host.algorithms.algorithm import Algorithm, by_table
from host.algorithms.autodiff import Updater, torch
from host.algorithms.config import AgentConfig
from host.algorithms.convolution import CONVOLUTIONS, ConvNet, convolutions_for
from host.algorithms.layers import Described, Part
from host.algorithms.policy import Policy
from host.rules import FRACTION, NOT_NEGATIVE, NOTHING, POSITIVE, Choice, Integer
from host.summaries import SUMMARIES
from hw.fa3c.config import SLOTS

__all__ = ["A3C", "A3CConfig", "A3CPolicy", "A3CUpdater"]


@dataclass(frozen=True, kw_only=True)
class A3CConfig(AgentConfig):
    """Asynchronous advantage actor-critic (Mnih et al., 2016; FA3C, Cho et al., 2019, 2.2).

    The loss is a sum over the rollout of one agent, which is ``batch_size`` steps:
    ``loss = sum(-log pi(a|s) (R - V) - entropy_coefficient H(pi) + value_coefficient (R - V)**2)``,
    ``R = r + gamma R'``. V is the network's value of s, and H(pi) the policy's entropy. R' is the
    next step's R; it is 0 if the episode terminates at this step, and the value of the observation
    that follows if the episode is truncated at this step or the rollout ends.

    The gradient d of each agent's rollout updates theta, the parameters that all agents share:
    ``g = decay g + (1 - decay) d**2``, ``theta -= learning_rate d / sqrt(g + optimizer_epsilon)``.
    """

    #: Convolutions with ReLU before the hidden layers, filters:kernel:stride of each; None: 16:8:4
    #: and 32:4:2 for images of at least 36 x 36 pixels, 16:3:1 for smaller ones, none for vectors.
    convolutions: Annotated[tuple | None, CONVOLUTIONS] = None
    #: Width of each hidden layer: at most 2, of 1 to 4096.
    hidden: tuple = (128,)
    activation: Annotated[str, Choice(("relu",))] = "relu"
    #: Steps of a rollout (t_max), from which a gradient step learns.
    batch_size: Annotated[int, Integer(1, SLOTS)] = 5
    learning_rate: float = 7e-4
    #: Number that is added to the mean of squared gradients, inside the root.
    optimizer_epsilon: float = 0.1
    #: Decay of the mean of squared gradients.
    decay: Annotated[float, FRACTION] = 0.99
    #: The card has no such limit.
    max_gradient_norm: Annotated[None, NOTHING] = None
    #: Weight of the critic's loss.
    value_coefficient: Annotated[float, NOT_NEGATIVE] = 0.25
    #: Weight of the policy's entropy.
    entropy_coefficient: Annotated[float, NOT_NEGATIVE] = 0.01
    #: Largest magnitude of a step's reward in training; a larger reward is clipped, but returns are
    #: reported without clipping. None: no limit.
    reward_clip: Annotated[float | None, POSITIVE] = None


class A3CPolicy(Policy):
    """A policy that draws actions by their probabilities, ``pi = softmax(logits)``; if ``greedy``,
    it takes the likeliest action.

    One network gives the logits of all actions and, as its last output, the value.
    """

    ACTS = "actor_critic"

    def make_networks(self, rng):
        config, spec = self.config, self.spec
        network = ConvNet(
            spec,
            spec.action_count + 1,
            convolutions=convolutions_for(config, spec),
            hidden=config.hidden,
            rng=rng,
        )
        for weight, bias in network.layers:  # as in the code that FA3C cites, also for biases
            bound = np.prod(weight.shape[1:]) ** -0.5
            for array in (weight, bias):
                array[...] = rng.uniform(-bound, bound, array.shape)
        return {self.ACTS: network}

    def described(self):
        count = self.spec.action_count
        heads = {"logits": [Part(0, count)], "value": [Part(count, count + 1)]}
        return Described(self.networks[self.ACTS].described(), "logits", heads)

    def choose(self, outputs, *, greedy=False, steps=0):
        logits = outputs[:, :-1]
        return logits.argmax(axis=1) if greedy else draw_by_logits(logits, self.rng)


class A3CUpdater(Updater):
    """Executes the rounds of a RoundLearner off the card, with gradients by autodiff."""

    device_cycles = None

    def __init__(self, policy, **options):
        super().__init__(policy, **options)
        [self._trained] = self.networks.values()
        self._squares = torch.zeros_like(self._trained.parameters)
        self._snapshots, self._rollouts = {}, {}

    @staticmethod
    def errors(config, rollout):
        """For a ``host.a3c.round_collector.GroupRollout``, returns d(loss) / d(outputs), float32
        [steps, agents, outputs], with the loss of A3CConfig; it is 0 where ``valid`` is False. Also
        returns a dict, column of progress.csv -> mean over the valid steps, empty if there are
        none."""
        outputs, valid = rollout.outputs.astype(np.float64), rollout.valid
        logits, value = outputs[..., :-1], outputs[..., -1]
        logarithms = log_softmax(logits)
        probabilities = np.exp(logarithms)
        entropy = -(probabilities * logarithms).sum(-1)
        chosen = np.eye(logits.shape[-1])[rollout.action]
        advantage = _returns(config, rollout) - value
        errors = np.empty_like(outputs)
        errors[..., :-1] = advantage[..., None] * (probabilities - chosen)
        pull = config.entropy_coefficient * probabilities
        errors[..., :-1] += pull * (logarithms + entropy[..., None])
        errors[..., -1] = -2 * config.value_coefficient * advantage
        errors[~valid] = 0
        measured = {
            "policy_loss": -(logarithms * chosen).sum(-1) * advantage,
            "value_loss": advantage**2,
            "entropy": entropy,
            "value": value,
        }
        errors = errors.astype(np.float32)
        if not valid.any():
            return errors, {}
        return errors, {name: float(array[valid].mean()) for name, array in measured.items()}

    def prepare(self, tasks):
        """Returns ``tasks`` as they are, for ``run``."""
        return tasks

    def run(self, tasks):
        """Executes tasks of ``host.a3c.round_tasks`` one after the other. Returns a list with an
        item for each task: the outputs of an Infer, float32 [agents, outputs], and None for others.
        """
        kinds = {Sync: self._sync, Infer: self._infer, Train: self._train}
        return [kinds[type(task)](task) for task in tasks]

    def _sync(self, task):
        self._snapshots[task.snapshot] = self._trained.snapshot()

    def _infer(self, task):
        if task.step is not None:
            for agent, seen in zip(task.agents, task.observations, strict=True):
                self._rollouts.setdefault(agent, {})[task.step] = seen
        with torch.no_grad():
            seen = self.tensor(task.observations)
            return self._trained(seen, self._snapshots[task.snapshot]).cpu().numpy()

    def _train(self, task):
        rollout = self._rollouts.pop(task.agent)
        seen = self.tensor(np.stack([rollout[step] for step in range(len(task.errors))]))
        trained, arrays = self._trained, self._snapshots[task.snapshot]
        outputs = trained(seen, arrays)
        torch.autograd.backward(outputs, self.tensor(task.errors), inputs=arrays)
        gradient, squares = trained.parameters.grad, self._squares
        squares.mul_(task.decay).addcmul_(gradient, gradient, value=1 - task.decay)
        root = (squares + task.epsilon).sqrt_()
        trained.parameters.addcdiv_(gradient, root, value=-task.rate)
        gradient.zero_()

    def fetch(self, policy):
        """Brings the policy's parameters up to date."""
        self._trained.show()

    def abort(self):
        """Does nothing: no call here waits."""

    def close(self):
        """Does nothing: there is nothing to release."""

    def state_dict(self):
        """The means of the squared gradients. The policy's own state has the parameters; snapshots
        and rollouts are not saved."""
        return {"squares": self._squares.cpu().numpy().copy()}

    def load_state_dict(self, state):
        """Continues from a ``state_dict``. The policy must have been loaded before, since the
        parameters are copied from it; snapshots and rollouts are dropped."""
        self._trained.parameters.copy_(torch.from_numpy(self._trained.network.parameters))
        self._squares.copy_(torch.from_numpy(np.array(state["squares"])))
        self._snapshots.clear()
        self._rollouts.clear()


def _returns(config, rollout):
    """R [steps, agents], float64."""
    reward = rollout.reward.astype(np.float64)
    if config.reward_clip is not None:
        reward = reward.clip(-config.reward_clip, config.reward_clip)
    returns, after = np.zeros_like(reward), rollout.bootstrap.astype(np.float64)
    for step in reversed(range(len(reward))):
        after = np.where(rollout.truncated[step], rollout.follows[step], after)
        after = np.where(rollout.terminated[step], 0, after)
        gained = reward[step] + config.gamma * after
        returns[step] = after = np.where(rollout.valid[step], gained, after)
    return returns


#: Rewards are rare at first. Gradients are small then, and so is the number under the root; and a
#: larger weight of the entropy would draw the policy away from the few rewards that it finds.
_MINATAR = dict(
    steps=1_000_000,
    evaluation_interval_steps=250_000,
    evaluation_steps=10_000,
    log_interval_steps=10_000,
    agent=dict(
        hidden=(128,),
        learning_rate=1e-3,
        learning_rate_final=0.0,
        optimizer_epsilon=1e-4,
        entropy_coefficient=1e-3,
        reward_clip=1.0,
    ),
)

#: Rewards come from the first episode on: gradients are larger, and with less entropy the policy
#: settles too soon.
_BREAKOUT = _MINATAR | dict(
    agent=_MINATAR["agent"] | dict(optimizer_epsilon=1e-3, entropy_coefficient=0.01)
)

#: FA3C's network, and its step size, which falls to 0 over all of its 100 million steps (5.6). FA3C
#: does not give the number under the root; with 0.1, as in the code that it cites, the first steps
#: are small.
_ATARI = dict(
    steps=100_000_000,
    evaluation_interval_steps=500_000,
    evaluation_episodes=5,
    evaluation_steps=27_000,
    log_interval_steps=10_000,
    checkpoint_interval_steps=200_000,
    agent=dict(
        hidden=(256,),
        learning_rate=7e-4,
        learning_rate_final=0.0,
        optimizer_epsilon=1e-3,
        reward_clip=1.0,
    ),
)

A3C = Algorithm(
    name="a3c",
    summary=SUMMARIES["a3c"],
    config=A3CConfig,
    policy=A3CPolicy,
    updater=A3CUpdater,
    actions=(Discrete,),
    columns={
        "policy_loss": "-log pi(a|s) (R - V) a step",
        "value_loss": "(R - V)**2 a step",
        "entropy": "entropy of the policy, in nats",
        "value": "the critic's value of an observation",
    },
    learns_from="rounds",
    images=True,
    kernel=by_table,
    # They solve CartPole-v1.
    defaults=dict(
        steps=300_000,
        evaluation_interval_steps=10_000,
        log_interval_steps=5000,
        agent=dict(
            hidden=(64,),
            learning_rate=2e-3,
            learning_rate_final=0.0,
            optimizer_epsilon=1e-3,
        ),
    ),
    environments={"ALE/": _ATARI, "MinAtar/": _MINATAR, "MinAtar/Breakout-v1": _BREAKOUT},
)
