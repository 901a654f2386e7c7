"""Replay memories of libraries, for rows beside ours: cpprb and torchrl.

Both have a sum tree in C++, with two children a node. No wheel of torchrl, from 0.12 to 0.14.1, can
be loaded with torch 2.13, so the extra ``peers`` does not have it: torchrl has rows where both come
from one build.
"""

from typing import NamedTuple

import numpy as np

__all__ = ["PEERS", "Calls", "Inputs"]


class Inputs(NamedTuple):
    """What all memories get.

    capacity : experiences of a memory.
    alpha, epsilon, beta : of the priorities and the weights.
    parts : ``[(experiences, TD errors)]``, of which all together fill a memory.
    new : the experiences of an INSERT, a dict of arrays.
    updates : ``{count: [(indexes, TD errors)]}``.
    fields : ``{name: (dtype, shape)}`` of an experience.
    """

    capacity: int
    alpha: float
    epsilon: float
    beta: float
    parts: list
    new: dict
    updates: dict
    fields: dict


class Calls(NamedTuple):
    """A memory, as functions: ``insert()``, ``sample(count)``, and ``update(indexes, TD errors)``;
    one that it does not have is None."""

    insert: object = None
    sample: object = None
    update: object = None


def _columns(experiences):
    """Experiences whose scalars have a second axis, as cpprb stores them."""
    return {name: each.reshape(len(each), -1) for name, each in experiences.items()}


def _cpprb(inputs):
    import cpprb

    buffer = cpprb.PrioritizedReplayBuffer(
        inputs.capacity, _described(inputs), alpha=inputs.alpha, eps=inputs.epsilon
    )
    for experiences, errors in inputs.parts:
        buffer.add(**_columns(experiences), priorities=errors)
    new = _columns(inputs.new)
    return Calls(
        insert=lambda: buffer.add(**new),
        sample=lambda count: buffer.sample(count, beta=inputs.beta),
        update=buffer.update_priorities,
    )


def _cpprb_uniform(inputs):
    import cpprb

    buffer = cpprb.ReplayBuffer(inputs.capacity, _described(inputs))
    for experiences, _ in inputs.parts:
        buffer.add(**_columns(experiences))
    new = _columns(inputs.new)
    return Calls(insert=lambda: buffer.add(**new), sample=buffer.sample)


def _described(inputs):
    """The fields of an experience, as cpprb wants them."""
    return {
        name: {"shape": shape or 1, "dtype": dtype}
        for name, (dtype, shape) in inputs.fields.items()
    }


def _torchrl(inputs):
    return _torchrl_both(inputs)[0]


def _torchrl_sampler(inputs):
    return _torchrl_both(inputs)[1]


def _torchrl_both(inputs):
    """The Calls of torchrl's buffer, and of its sampler alone, which draws indexes and weights."""
    from tensordict import TensorDict
    from torch import from_numpy
    from torchrl.data import LazyTensorStorage, PrioritizedSampler, ReplayBuffer

    def batch(experiences):
        """As a TensorDict, whose tensors cannot be of uint32."""
        signed = {
            name: each.astype(np.int32) if each.dtype == np.uint32 else each
            for name, each in experiences.items()
        }
        tensors = {name: from_numpy(each) for name, each in signed.items()}
        return TensorDict(tensors, [len(signed["reward"])])

    # RuntimeError if torchrl's C++ cannot be loaded.
    sampler = PrioritizedSampler(inputs.capacity, inputs.alpha, inputs.beta, eps=inputs.epsilon)
    storage = LazyTensorStorage(inputs.capacity)
    buffer = ReplayBuffer(storage=storage, sampler=sampler)
    for experiences, errors in inputs.parts:
        indexes = buffer.extend(batch(experiences))
        buffer.update_priority(indexes, from_numpy(errors))
    new = batch(inputs.new)

    def updates(of):
        return lambda indexes, errors: of.update_priority(from_numpy(indexes), from_numpy(errors))

    whole = Calls(insert=lambda: buffer.extend(new), sample=buffer.sample, update=updates(buffer))
    alone = Calls(sample=lambda count: sampler.sample(storage, count), update=updates(sampler))
    return whole, alone


#: Name -> function that makes the Calls of a full memory from Inputs. ImportError if the library is
#: not installed.
PEERS = {
    "cpprb 11": _cpprb,
    "torchrl": _torchrl,
    "torchrl, sampler alone": _torchrl_sampler,
    "cpprb 11, uniform": _cpprb_uniform,
}
