"""Replay memories off the card, behind the surface of the card's; and a learner's kernel that
trains on their batches. Read ``rows`` first."""

from host.memory.ring import RingMemory
from host.memory.sent import SentFixarReplay, SentReplay
from host.memory.tree import TreeMemory

__all__ = ["MEMORIES", "ON_CPU", "RingMemory", "SentFixarReplay", "SentReplay", "TreeMemory"]

#: name -> explanation
MEMORIES = {
    "card": "prioritized, in the memory of the card",
    "tree": "prioritized, on the CPU; it draws the same batches as the card",
    "ring": "uniform, on the CPU; draws are with replacement, and all weights are 1",
}

#: name -> class of those on the CPU
ON_CPU = {"tree": TreeMemory, "ring": RingMemory}
