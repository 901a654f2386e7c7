"""Replay memories on the CPU, which need no card.

>>> fields = {"obs": (np.float32, (4,)), "reward": (np.float32, ())}
>>> memory = TreeMemory(fields, capacity=1000)
>>> memory.add(obs=np.zeros((8, 4)), reward=np.arange(8))
>>> batch = memory.sample(4, beta=0.4)
>>> memory.update_priorities(batch["indexes"], td_errors=[0.1, 2.0, -0.3, 0.0])
>>> len(memory), sorted(batch)
(8, ['indexes', 'obs', 'reward', 'weights'])
>>> memory = RingMemory(fields, capacity=1000)
>>> memory.add(obs=np.zeros((8, 4)), reward=np.arange(8))
>>> memory.sample(4)["weights"].tolist()
[1.0, 1.0, 1.0, 1.0]
"""

from host.replay.ring_memory import RingMemory
from host.replay.tree_memory import TreeMemory

__all__ = ["RingMemory", "TreeMemory"]
