"""Replay memories off the card, behind the surface of the card's. Read ``rows`` first."""

from host.memory.ring import RingMemory
from host.memory.tree import TreeMemory

__all__ = ["MEMORIES", "RingMemory", "TreeMemory"]

#: name -> class of a memory on the CPU
MEMORIES = {"tree": TreeMemory, "ring": RingMemory}
