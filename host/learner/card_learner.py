"""The learner on the card: draw, gradient step and new priorities without the host in between.

The host acts, brings experiences, and sends the values of the schedules for each step. It acts on a
copy of the weights, which comes back with a launch, or lets the card infer with its own weights.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from host.algorithms.config import LOSSES, Clock, TemporalDifferenceConfig
from host.algorithms.policy import InferredPolicy, Policy
from host.learner.hyperparameters import checked_hyperparameters, hyperparameter_records
from host.learner.learning_replay import LearningReplay
from host.learner.policy_weights import flat, layers_of, online_of, set_weights
from host.learner.sent_replay import SentReplay
from host.replay.memory_learner import MemoryLearner
from host.replay.nstep import Collected, stored
from hw.arith.power import SCALE_FORMAT
from hw.errors import UsageError
from hw.learner.config import check_hidden
from hw.learner.records import HYPERPARAMETERS, SHIFTED, STEP
from hw.shell.layout import Layout

__all__ = ["CardLearner", "steps_of"]


def steps_of(
    agent: TemporalDifferenceConfig,
    clock: Clock,
    count: int,
    record: Layout = HYPERPARAMETERS,
    seed: int = 0,
) -> NDArray[np.void]:
    """Records [count] of the ``count`` updates that follow ``clock``: HYPERPARAMETERS, or the
    kernel's own ``record``.

    They have the optimizer's numbers, the schedules' values at ``clock.launched``, and
    ``target_tau`` as ``blend`` in every ``target_interval``-th update, else 0. ``agent`` is the
    agent's config. With ``policy_delay`` the actor and all targets are updated in every
    ``policy_delay``-th update, and the actor's bias correction counts its own. The noise of update
    number t has the seed ``seed + t``, so it depends on nothing else.

    With Adam, ``w -= rate m / (sqrt(s) + floor)``, m and s being the moments, is the rule of
    torch.optim.Adam at update t if ``rate = lr sqrt(1 - beta2^t) / (1 - beta1^t)`` and ``floor =
    epsilon sqrt(1 - beta2^t)``.

    The gradient of loss mse is twice the card's, but for the actor of DDPG, and both networks share
    a ``scale``. So the first network's ``rate`` is twice as large with SGD, and else its ``floor``
    half as large: the steps are exactly those of twice the gradient, while the card's first moment
    is half, and its second a quarter, of torch's. The largest norm of its gradient is half too.
    """
    update = clock.updates + 1 + np.arange(count, dtype=np.float64)[:, None]
    delay = getattr(agent, "policy_delay", 1)
    own = np.concatenate([update, np.maximum(update // delay, 1)], axis=1)  # of critic, of actor
    steps = np.repeat(_constant(agent, record), count)
    rate = np.tile(agent.learning_rates_at(clock.launched), (count, 1))
    floor = np.zeros((count, 2))
    if agent.optimizer == "sgd":
        rate[:, 0] *= agent.loss_scale
    elif agent.optimizer == "rmsprop":
        floor += agent.optimizer_epsilon
    else:
        root = np.sqrt(1 - agent.beta2**own)
        rate = rate * root / (1 - agent.beta1**own)
        floor += agent.optimizer_epsilon * root
    if agent.optimizer != "sgd":
        floor[:, 0] /= agent.loss_scale
    steps["rate"], steps["floor"] = rate, floor
    steps["beta"] = SCALE_FORMAT.quantize(agent.beta_at(clock.launched))[0]
    due = update % (agent.target_interval or delay) == 0
    blend = np.where(due, agent.target_tau, 0.0)
    steps["blend"], steps["keep"] = blend, 1 - blend
    if record is STEP:
        steps["sweeps"] = np.where(update[:, 0] % delay == 0, 3, 1)
        steps["seed"] = np.uint64(seed) + update[:, 0].astype(np.uint64)
    return checked_hyperparameters(steps, record)


@lru_cache(maxsize=16)
def _constant(agent, record):
    """The ``record`` of an agent's config, with 0 for all that changes."""
    decays = {}
    if agent.optimizer == "sgd":
        decays = {"first_decay": agent.momentum, "first_gain": 1.0}
    elif agent.optimizer == "rmsprop":
        decays = {"second_decay": agent.decay}
    else:
        decays = {"first_decay": agent.beta1, "second_decay": agent.beta2}
    if record is STEP and agent.max_gradient_norm is not None:
        decays["max_norm"] = agent.max_gradient_norm / np.array([agent.loss_scale, 1])
    if record is STEP and hasattr(agent, "target_noise"):
        shift = np.zeros(SHIFTED, np.int64)
        # Of both critics and the actor.
        shift[:3] = [agent.critic_error_shift] * 2 + [agent.actor_error_shift]
        decays |= {"noise": agent.target_noise, "noise_clip": agent.target_noise_clip}
        decays["shift"] = shift
    clip = agent.huber_delta if LOSSES[agent.loss].limited else np.inf
    return hyperparameter_records(
        1, record, scale=1 / agent.batch_size, clip=clip, rate=0.0, **decays
    )


class CardLearner(MemoryLearner):
    """Learns on the card: a launch stores experiences and does ``updates_per_launch`` gradient
    steps.

    The card's weights start as those of the policy's networks. Afterwards these networks are the
    host's copy of the card's weights, fetched every ``weights_interval`` launches. Targets and
    moments of the optimizer are on the card alone.

    If ``act`` is card, the card infers between the launches, so that every action comes from
    the newest weights; the copy is then fetched only before a file is written (``fetch``).

    Parameters
    ----------
    policy, clock, options
        As ``MemoryLearner``.
    buffer : LearningReplay or SentReplay
        UsageError if the kernel's batch does not suit the agent's.
    weights_interval : int
        Launches from one fetch of the weights to the next.
    act : str
        What computes the actions: cpu or card.
    seed : int
        Of the noise that the card draws, 0..2^64 - 1.
    """

    BUFFER = LearningReplay
    #: Class of the buffer if the replay memory is not the kernel's; made of a memory and a BUFFER.
    SENT = SentReplay
    #: Field of an agent's config -> its values that the kernel trains; the CPU trains all.
    TRAINS = {
        "precision": ("float32",),  # the kernel's own fixed point is no precision of the agent
        "lagged_critic": (True,),
        "dueling": (False,),
    }
    columns = (
        "loss",
        *MemoryLearner.columns,
        "clipped_weights",
        "clipped_activations",
        "clipped_gradients",
    )

    def __init__(
        self,
        policy: Policy,
        clock: Clock,
        buffer: LearningReplay | SentReplay,
        *,
        weights_interval: int = 1,
        act: str = "cpu",
        seed: int = 0,
        **options: object,
    ) -> None:
        super().__init__(policy, clock, buffer, **options)
        self._check_batch()
        self.weights_interval = weights_interval
        self._begun, self._acts, self._seed = Clock(), act == "card", seed
        policy.refreshed_every(self.updates_per_launch * weights_interval)
        buffer.initialize(layers_of(policy))

    @classmethod
    def check_agent(cls, agent: TemporalDifferenceConfig, design: str) -> None:
        """ValueError if the kernel of ``design``, a design's name, cannot train an agent with the
        config ``agent``."""
        check_hidden(agent.hidden, where=" on the card")
        for name, trained in cls.TRAINS.items():
            value = getattr(agent, name, trained[0])
            if value not in trained:
                raise UsageError(
                    f"{name} must be {' or '.join(map(str, trained))} with learner card and kernel "
                    f"{design}, not {value!r} (--learner cpu takes any)"
                )
        if getattr(agent, "convolutions", None):
            raise UsageError(
                f"convolutions must be none with learner card, not {agent.convolutions!r} "
                "(--learner cpu has them)"
            )

    def _check_batch(self):
        learner, batch = self.buffer.learner, self.agent.batch_size
        if batch > learner.batch or batch % learner.lanes:
            raise UsageError(
                f"batch_size must be a multiple of {learner.lanes} up to {learner.batch}, as in "
                f"the kernel, not {batch!r}"
            )

    def plan(self, fill: int, learning: bool) -> tuple[object, ...] | None:
        """``(records of the launch's steps, sets of parameters to fetch with it)``; None if the
        launch only stores, because too few experiences were stored before it. ``fill`` and
        ``learning`` are as for ``MemoryLearner.plan``."""
        if not learning or fill < self.agent.batch_size:
            return None
        count, begun = self.updates_per_launch, self._begun
        due = not self._acts and (begun.updates // count + 1) % self.weights_interval == 0
        begun.launched = self.clock.launched
        record = self.buffer.learner.step_record
        steps = steps_of(self.agent, begun, count, record, self._seed)
        begun.updates += count
        return steps, ("online",) if due else ()

    def launch(
        self, experience: Collected | None, plan: tuple[object, ...] | None
    ) -> dict[str, object] | None:
        """Runs the launch. Returns None if ``plan`` is None, else a dict: ``loss`` and ``td``, sums
        over the batch of each gradient step, [steps]; and ``weights``, network -> vector of its
        parameters, or None if they are not fetched."""
        records, options = stored(experience)
        if plan is None:
            return self.buffer.step(records, **options)
        steps, sets = plan
        batch = self.agent.batch_size
        reports, parameters = self.buffer.learn(
            steps, batch_size=batch, experiences=records, store=sets, **options
        )
        weights = parameters and {name: flat(layers) for name, layers in parameters.items()}
        return {"loss": reports["loss"], "td": reports["td"], "weights": weights}

    def learned(self, result: dict[str, object] | None) -> dict[str, float | None]:
        if result is None:
            return {}
        self.clock.updates += len(result["loss"])
        self._take(result["weights"] or {})
        batch = self.agent.batch_size
        return {
            "loss": float(result["loss"].mean()) * self.agent.loss_scale / batch,
            "td_error": float((result["td"] / np.float32(batch)).mean()),
        }

    def _take(self, weights):
        for name, parameters in weights.items():
            self.policy.networks[name].parameters[...] = parameters

    def infer(self, obs: ArrayLike, **options: float) -> NDArray[np.float32]:
        """Outputs of the network that acts for obs [rows, size], computed on the card with its
        present weights, after the launches under way. ``options`` are those of the buffer's
        ``act``."""
        return self._card.call(self.buffer.act, obs, **options)

    def _stored(self):
        """The card's weights that act and learn, after the launches under way."""
        return self._card.call(self.buffer.store, ("online",))

    def fetch(self) -> None:
        if self._acts:
            set_weights(self.policy, self._stored())

    @contextmanager
    def actor(self, policy: Policy | None = None) -> Iterator[Policy | InferredPolicy]:
        """As ``Learner.actor``. If ``act`` is card and another ``policy`` is given, its
        weights replace those of the card within the ``with`` block; the weights that learn are
        loaded again at its end."""
        if not self._acts:
            yield policy or self.policy
        elif policy is None:
            yield self.on_card(self.policy)
        else:
            own = self._stored()
            self._card.call(self.buffer.load, online_of(policy))
            try:
                yield self.on_card(policy)
            finally:
                self._card.call(self.buffer.load, own)

    def on_card(self, policy: Policy) -> InferredPolicy:
        """Returns an object that acts as ``policy``, by outputs that the card infers; the card must
        have the weights of ``policy``."""
        return InferredPolicy(policy, self.infer)

    def progress(self) -> dict[str, float | None]:
        clipped = zip(self.columns[-3:], self.buffer.saturations.tolist(), strict=True)
        return super().progress() | dict(clipped)

    def state_dict(self) -> dict[str, object]:
        return super().state_dict() | {"begun": self._begun.updates}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        super().load_state_dict(state)
        self._begun.updates = int(state["begun"])
