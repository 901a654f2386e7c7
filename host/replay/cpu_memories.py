"""Replay memories by name; those on the CPU have the surface of the card's.

They are compiled by numba, which takes a second to import; so none is imported here.
"""

from importlib import import_module

__all__ = ["MEMORIES", "memory_on_cpu"]

#: name -> explanation
MEMORIES = {
    "card": "prioritized, in the memory of the card",
    "tree": "prioritized, on the CPU; it draws the same batches as the card",
    "ring": "uniform, on the CPU; draws are with replacement, and all weights are 1",
}

_ON_CPU = {"tree": "TreeMemory", "ring": "RingMemory"}


def memory_on_cpu(name):
    """The class of the replay memory called ``name`` on the CPU: TreeMemory for tree, RingMemory
    for ring."""
    return getattr(import_module(f"{__package__}.{name}_memory"), _ON_CPU[name])
