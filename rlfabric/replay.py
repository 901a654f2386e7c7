"""A prioritized replay memory that makes its own kernel. Those on the CPU need no card:

>>> fields = {"obs": (np.float32, (4,)), "reward": (np.float32, ())}
>>> memory = rlfabric.TreeMemory(fields, capacity=1000)
>>> memory.add(obs=np.zeros((8, 4)), reward=np.arange(8))
>>> batch = memory.sample(4, beta=0.4)
>>> memory.update_priorities(batch["indexes"], td_errors=[0.1, 2.0, -0.3, 0.0])
>>> len(memory), sorted(batch)
(8, ['indexes', 'obs', 'reward', 'weights'])
>>> memory = rlfabric.RingMemory(fields, capacity=1000)
>>> memory.add(obs=np.zeros((8, 4)), reward=np.arange(8))
>>> memory.sample(4)["weights"].tolist()
[1.0, 1.0, 1.0, 1.0]
"""

from host.cards import Card, Kernel
from host.replay import prioritized_buffer
from host.replay.experience import Fields
from rlfabric.kernels import OwnCard

__all__ = ["PrioritizedReplayBuffer"]


class PrioritizedReplayBuffer(OwnCard, prioritized_buffer.PrioritizedReplayBuffer):
    """A replay memory whose draws, priorities, weights and experiences are on a card:
    ``P(i) = p_i / sum p``, ``p = (|td| + epsilon)**alpha`` (Schaul et al., ICLR 2016).

    Parameters
    ----------
    fields : dict
        ``{name: (dtype, shape)}`` of an experience: numbers or bools.
    capacity : int
        Number of experiences; when it is full, the oldest is overwritten.
    card : str, Card or Kernel
        A card's name or an open card, on which the kernel ``replay`` is loaded (``load_kernel``);
        or a loaded kernel with a replay memory. A card that was given by name is closed with the
        buffer.
    board : str
        Name of the board for which the kernel is made, or was built.
    alpha, epsilon, seed, stratified, timeout_s, takeover
        As for ``host.replay.prioritized_buffer.PrioritizedReplayBuffer``, the base class, which has
        ``step`` and the other methods.

    The buffer is a context manager: at the end of its ``with`` block it is closed.

    >>> fields = {"obs": (np.float32, (4,)), "reward": (np.float32, ())}
    >>> with rlfabric.PrioritizedReplayBuffer(fields, capacity=1000) as memory:
    ...     memory.add(obs=np.zeros((8, 4)), reward=np.arange(8))
    ...     batch = memory.sample(4, beta=0.4)
    ...     memory.update_priorities(batch["indexes"], td_errors=[0.1, 2.0, -0.3, 0.0])
    ...     len(memory), sorted(batch)
    (8, ['indexes', 'obs', 'reward', 'weights'])
    """

    def __init__(
        self,
        fields: Fields,
        capacity: int,
        card: str | Card | Kernel = "model",
        *,
        board: str = "u200",
        alpha: float = 0.6,
        epsilon: float = 1e-4,
        seed: int = 0,
        stratified: bool = True,
        timeout_s: float = 600.0,
        takeover: bool = False,
    ) -> None:
        super().__init__(
            self._kernel("replay", board, card, {"capacity": capacity}),
            fields,
            capacity=capacity,
            alpha=alpha,
            epsilon=epsilon,
            seed=seed,
            stratified=stratified,
            timeout_s=timeout_s,
            takeover=takeover,
        )
