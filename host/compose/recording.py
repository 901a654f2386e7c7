"""Four gradient steps of a user's trainer, recorded with all numbers before and after each."""

from dataclasses import dataclass

import numpy as np

from host.algorithms.autodiff import torch
from host.algorithms.config import Clock
from host.algorithms.trainer import TrainerPolicy, TrainerUpdater
from host.compose.layers import read_layers
from hw.config import check_range

__all__ = ["Recording", "Step", "recorded"]

STEPS = 4
#: The longest ``target_interval``: nearly as many steps come before the recording.
_LONGEST = 20_000
#: Factors of observations and rewards in the last step; DDPG's are smaller, since fixed point must
#: not clip.
_LARGE = {"dqn": (10, 50), "ddpg": (2, 10)}
#: torch's name of a moment -> its set of parameters.
_MOMENTS = {
    "exp_avg": "first",
    "exp_avg_sq": "second",
    "square_avg": "second",
    "momentum_buffer": "first",
}


@dataclass(frozen=True)
class Step:
    """A gradient step.

    updates : how many were done before it.
    batch : experiences, as for ``Updater.update``.
    td : TD errors [batch], or None.
    before, after : ``{network: [{set: (weights [outputs, inputs], biases)} of each layer]}``, with
        the sets online, target, first and second; only those that the optimizer has.
    """

    updates: int
    batch: dict
    td: np.ndarray | None
    before: dict
    after: dict


@dataclass(frozen=True)
class Recording:
    """What a trainer did.

    steps : list of Step.
    takes : what of an experience it took.
    obs, actions : observations [rows, size], and its greedy actions for them after the last step.
    """

    steps: list
    takes: frozenset
    obs: np.ndarray
    actions: np.ndarray


def recorded(reading, agent, spec):
    """The Recording of a new trainer of ``agent``, a TrainerConfig, with the networks of a Reading.

    Batches are random, and a third of their rows is terminal. In the last step observations and
    rewards are larger, so that a limit of the gradient, if there is one, counts. The trainer first
    does ``max(2, target_interval - 2)`` steps, so that the second that is recorded is due for
    targets; then all weights are moved, so that values are of the order of 1, and targets are off
    their networks. UsageError if ``target_interval`` is too long.
    """
    interval = reading.agent["target_interval"]
    check_range("target_interval", interval, 1, _LONGEST, " to be proved for the card")
    policy = TrainerPolicy(agent, spec, weights=1, exploration=1)
    updater, rng = TrainerUpdater(policy, seed=1), np.random.default_rng(1)
    clock = Clock()
    for _ in range(max(2, interval - 2)):
        updater.step(_batch(agent, spec, rng), clock)
        clock.updates += 1
    _move(policy.trainer, reading, rng)
    sizes = [(1, 1)] * (STEPS - 1) + [_LARGE[reading.algorithm]]
    steps = [_step(updater, reading, _batch(agent, spec, rng, *each), clock) for each in sizes]
    obs = rng.normal(size=(64, spec.size)).astype(np.float32)
    return Recording(steps, updater.takes, obs, policy.act(obs, greedy=True))


def _step(updater, reading, batch, clock):
    before = _numbers(updater.trainer, reading)
    td, done = updater.step(batch, clock), clock.updates
    clock.updates += 1
    return Step(done, batch, td, before, _numbers(updater.trainer, reading))


def _batch(agent, spec, rng, seen=1, rewarded=1):
    """Random experiences; ``seen`` and ``rewarded`` are factors of observations and rewards."""
    rows = agent.batch_size
    obs, following = (seen * rng.normal(size=(rows, spec.size)) for _ in range(2))
    weights = rng.uniform(0.2, 1, rows)
    discount = agent.gamma ** rng.integers(1, agent.n_step + 1, rows)
    discount[: rows // 3] = 0
    batch = {
        "obs": obs,
        "next_obs": following,
        "reward": rewarded * rng.normal(size=rows),
        "discount": rng.permutation(discount),
        "weights": weights / weights.max(),  # as those of a replay memory
    }
    batch = {name: array.astype(np.float32) for name, array in batch.items()}
    if spec.discrete:
        return batch | {"action": rng.integers(spec.action_count, size=rows)}
    shape = rows, spec.action_count
    return batch | {"action": rng.uniform(-1, 1, shape).astype(np.float32)}


def _move(trainer, reading, rng):
    with torch.no_grad():
        for network in reading.networks.values():
            online, target = (_pairs(trainer, x) for x in (network.online, network.target))
            for mine, theirs in zip(online, target, strict=True):
                for value, other in zip(mine, theirs, strict=True):
                    value.add_(_noise(rng, value, mine[0].shape[1] ** -0.5))
                    other.copy_(value + _noise(rng, value, 0.05))


def _noise(rng, like, deviation):
    noise = rng.normal(0, deviation, tuple(like.shape)).astype(np.float32)
    return torch.from_numpy(noise)


def _numbers(trainer, reading):
    """The numbers of all networks, as ``before`` of Step."""
    return {
        ours: [
            _layer(pair, target, getattr(trainer, network.optimizer).state)
            for pair, target in zip(
                _pairs(trainer, network.online), _pairs(trainer, network.target), strict=True
            )
        ]
        for ours, network in reading.networks.items()
    }


def _pairs(trainer, name):
    return [(x.weight, x.bias) for x in read_layers(getattr(trainer, name), name).linears]


def _layer(online, target, states):
    found = {"online": online, "target": target}
    for moment, parameter_set in _MOMENTS.items():
        if all(states[value].get(moment) is not None for value in online if value in states):
            moments = tuple(states[value][moment] for value in online if value in states)
            if len(moments) == len(online):
                found[parameter_set] = moments
    return {
        name: tuple(each.detach().numpy().copy() for each in pair) for name, pair in found.items()
    }
