"""Prioritized replay for stable-baselines3 (extra ``sb3``): its replay buffer on a card, and its
DQN, TD3 and SAC with importance weights and new priorities.

>>> import warnings
>>> from rlfabric.sb3 import PrioritizedDQN
>>> model = PrioritizedDQN("MlpPolicy", "CartPole-v1", replay_buffer_kwargs=dict(alpha=0.6))
>>> model.learn(200).replay_buffer.size()
200
"""

from collections.abc import Callable

from gymnasium import spaces

from host.cards import Card, Kernel
from host.replay.experience import Fields
from host.sb3.algorithms import DQNSteps, SACSteps, TD3Steps
from host.sb3.card_buffer import CardBuffer, PrioritizedSamples
from rlfabric.replay import PrioritizedReplayBuffer as _Memory

from stable_baselines3 import DQN, SAC, TD3  # isort: skip  # what is missing was said above

__all__ = [
    "PrioritizedDQN",
    "PrioritizedReplayBuffer",
    "PrioritizedSAC",
    "PrioritizedSamples",
    "PrioritizedTD3",
]


class PrioritizedReplayBuffer(CardBuffer):
    """A ``ReplayBuffer`` of stable-baselines3 whose experiences, draws, priorities and weights are
    on a card: ``P(i) = p_i / sum p``, ``p = (|td| + epsilon)**alpha`` (Schaul et al., ICLR 2016).
    The experiences of all environments are in one tree.

    It is an algorithm's ``replay_buffer_class``, with options in ``replay_buffer_kwargs``. In
    PrioritizedDQN, PrioritizedTD3 and PrioritizedSAC it is the default. With plain DQN, TD3 and SAC
    it draws by priority, but these apply no weights and set no priorities: UserWarning.

    Parameters
    ----------
    buffer_size, observation_space, action_space, device, n_envs, handle_timeout_termination
        As for ``ReplayBuffer``; spaces may be a Dict. ``optimize_memory_usage`` must be False.
    card, board, timeout_s, takeover
        As for ``rlfabric.PrioritizedReplayBuffer``.
    alpha, epsilon, stratified
        As there.
    beta : float, or function
        Exponent of the weights, in 0..1; a function gets the share of the training that is left, as
        stable-baselines3's schedules do.
    n_steps, gamma : int, float
        Steps of a return, and their discount, as for ``NStepReplayBuffer``. A step can be drawn
        when its n rewards are known. The three algorithms give their own ``gamma``.
    seed : int, optional
        Of the draws. None: from NumPy's generator, which an algorithm's ``seed`` has seeded.

    ``save_replay_buffer`` and pickle keep all that is stored and the generator, so that the next
    draws are the same; of the card they keep the name. The card is opened at the first use of what
    was loaded. ``move(card)`` takes another one, ``close()`` releases it.

    Raises UsageError for a bad option, for a draw from an empty buffer, for TD errors that are not
    finite, and for observations and rewards that are not, at the next draw. ``HerReplayBuffer``
    makes experiences when they are drawn; it cannot be on a card.
    """

    def __init__(
        self,
        buffer_size: int,
        observation_space: spaces.Space,  # type: ignore[type-arg]
        action_space: spaces.Space,  # type: ignore[type-arg]
        device: object = "auto",
        n_envs: int = 1,
        optimize_memory_usage: bool = False,
        handle_timeout_termination: bool = True,
        *,
        card: str | Card | Kernel = "model",
        board: str = "u200",
        alpha: float = 0.6,
        beta: float | Callable[[float], float] = 0.4,
        epsilon: float = 1e-4,
        n_steps: int = 1,
        gamma: float = 0.99,
        seed: int | None = None,
        stratified: bool = True,
        timeout_s: float = 600.0,
        takeover: bool = False,
    ) -> None:
        super().__init__(  # type: ignore[no-untyped-call]
            buffer_size,
            observation_space,
            action_space,
            device,
            n_envs,
            optimize_memory_usage,
            handle_timeout_termination,
            card=card,
            beta=beta,
            n_steps=n_steps,
            gamma=gamma,
            seed=seed,
            options=dict(
                board=board,
                alpha=alpha,
                epsilon=epsilon,
                stratified=stratified,
                timeout_s=timeout_s,
                takeover=takeover,
            ),
        )

    def _opened(
        self, card: str | Card | Kernel, fields: Fields, capacity: int, **options: object
    ) -> _Memory:
        return _Memory(fields, capacity, card, **options)  # type: ignore[arg-type]


class PrioritizedDQN(DQNSteps, DQN):
    """stable-baselines3's DQN with prioritized replay: its loss is weighted, and each batch gets
    new priorities by its TD errors. Arguments are DQN's; ``replay_buffer_kwargs`` are for
    PrioritizedReplayBuffer. With ``alpha=0, beta=0`` it learns as DQN."""

    BUFFER = PrioritizedReplayBuffer


class PrioritizedTD3(TD3Steps, TD3):
    """stable-baselines3's TD3 with prioritized replay: the critics' losses are weighted, and each
    batch gets new priorities by the larger of their TD errors. As PrioritizedDQN otherwise."""

    BUFFER = PrioritizedReplayBuffer


class PrioritizedSAC(SACSteps, SAC):
    """stable-baselines3's SAC with prioritized replay: the critics' losses are weighted, and each
    batch gets new priorities by the larger of their TD errors. As PrioritizedDQN otherwise."""

    BUFFER = PrioritizedReplayBuffer
