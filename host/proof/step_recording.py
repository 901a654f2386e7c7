"""Gradient steps of a user's trainer, recorded with all numbers before and after each.

A run has a million of updates, a recording some dozens. So the trainer's counters are found, and
set to where something may begin: to every number that stands in the code or in an attribute.
"""

import math
from dataclasses import dataclass

import numpy as np

from host.algorithms.autodiff import torch
from host.algorithms.config import Clock
from host.proof.reachable_numbers import Reach
from host.proof.torch_layers import read_layers
from host.proof.trainer_reading import contract_numbers
from host.proof.watched_trainer import WatchedPolicy, WatchedUpdater
from host.trainers.module_state import modules_of, optimizers_of
from hw.config import check_range
from hw.errors import UsageError

__all__ = ["LARGE", "Act", "Recording", "Step"]

STEPS = 4
#: The longest ``target_interval``: nearly as many steps come before the recording.
_LONGEST = 20_000
#: Values of counters that are tried whatever the trainer has; the last one is a multiple of all
#: numbers up to 16, and of 40 000.
_FAR = (1_000, 100_000, 360_360_000)
_FARTHEST = 10**12
#: Counters beyond it are tried only where the trainer's own arithmetic allows.
_REALISTIC = 10**8
#: An optimizer's own counter is binary32.
_EXACT = 1 << 23
#: Factors of observations and rewards in the last step; DDPG's are smaller, since fixed point must
#: not clip.
LARGE = {"dqn": (10, 50), "ddpg": (2, 10), "td3": (2, 10)}
#: Factor of rewards, and share of rows that are terminal.
_ENDS = ((1, 0), (1, 1), (0, 0), (0, 1 / 3))
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
class Act:
    """Greedy actions [rows] or [rows, components] for observations [rows, size], in one call of the
    policy; ``numbers`` belong to all networks, as ``before`` of Step."""

    numbers: dict
    obs: np.ndarray
    actions: np.ndarray


class Recording:
    """Steps and actions of a new trainer of ``agent``, a TrainerConfig, by a Reading's networks.

    Batches are random. In the last step observations and rewards are larger, so that a limit of the
    gradient, if it has one, counts. The trainer first does ``max(2, target_interval - 2)`` steps,
    so that the second that is recorded is due for targets; before each recorded step all weights
    are moved, so that values are of the order of 1, and targets are off their networks. About half
    of the weights are then 0: their changes are exact, however small.

    Attributes
    ----------
    steps : list of Step
    acts : list of Act
    takes : what of an experience the trainer took.
    count, places : steps that were recorded, and to how many values counters were set.
    wraps : whether a number of the trainer returns to an earlier value, as a countdown does.

    UsageError if ``target_interval`` is too long, and, with the name, if the trainer draws random
    numbers, changes a rate, a number of the contract or a network where it must not, or has what
    cannot be set.
    """

    def __init__(self, reading, agent, spec):
        interval = reading.interval
        check_range("target_interval", interval, 1, _LONGEST, " to be proved for the card")
        self._reading, self._agent, self._spec = reading, agent, spec
        self._interval, self._rng = interval, np.random.default_rng(1)
        self.count, self.places, self._linears = 0, 0, {}
        self._kept = Reach(agent.CONTRACT.kind).numbers
        self.policy = WatchedPolicy(agent, spec, weights=1, exploration=1)
        self._updater = WatchedUpdater(self.policy, seed=1)
        self.trainer, self._clock, self._done = self.policy.trainer, Clock(), 0
        self._late = set()  # parameters of an actor that is updated with the targets
        if reading.algorithm == "td3":
            self._updater.noise = agent.batch_size, spec.action_count
            actor = modules_of(self.trainer)[reading.networks["actor"].online]
            self._late = {id(each) for each in actor.parameters()}
        self._rates, self._contract = self._rates_now(), self._contract_now()
        self._at, self.set_to, self._returned = 0, "", None
        self._lead(max(2, interval - 2))

    def _lead(self, count):
        for _ in range(count):
            if self._done == 2:
                early = self._reach().numbers
            self._update(self._batch())
        self._moments = self._sizes_of_moments()
        seen = [self._reach().numbers]
        if count == 2:
            early = seen[0]
        self.steps = []
        for number in range(STEPS):
            last = number == STEPS - 1
            sizes = LARGE[self._reading.algorithm] if last else (1, 1)
            self.steps.append(self._step(*sizes))
            seen.append(self._reach().numbers)
        self.takes = self._updater.takes
        before = early if self._interval >= STEPS else seen[-1 - self._interval]
        self._slopes, self._periods, self.wraps = _counting(seen, before)
        self.acts = self._acted(_ROWS, LARGE[self._reading.algorithm][0])
        acted = [self._reach().numbers]
        for _ in range(2):
            self._acted((1,))
            acted.append(self._reach().numbers)
        self._acting, _, _ = _counting(acted, acted[0])
        self._constants = self._reach().constants

    # -- counters

    def starts(self):
        """Numbers of updates from which the trainer is to be tried, in ascending order: with its
        counters as after so many, one of them soon reaches a number that the trainer has, or one
        that is far on."""
        now, done, found = self._reach().places, self._at, set()
        known = self._slopes.keys() & now.keys()
        slopes = [(done, 1), *((now[name].value, self._slopes[name]) for name in known)]
        for target in self._targets():
            for value, slope in slopes:
                found.add(done + math.floor((target - value) / slope + 1e-9) - 2)
            for name, change in self._periods.items():
                if name in now and isinstance(now[name].value, int):
                    periods = math.floor((target - now[name].value) / change)
                    due = done - done % self._interval - 2
                    found |= {due + (periods + more) * self._interval for more in (-1, 0, 1)}
        return sorted({max(each, 0) for each in found if -3 < each < _FARTHEST})

    def window(self, start, *, in_phase=False):
        """Steps with counters as after ``start`` updates; None if a counter cannot have it.

        ``in_phase`` : the steps' own numbers of updates are near ``start``, and in the trainer's
        present phase of ``target_interval``."""
        counted = start - (start - self._done) % self._interval if in_phase else start
        if not self._shift(start, counted if counted >= 0 else counted + self._interval):
            return None
        try:
            steps = [self._step() for _ in range(STEPS)]
            self.acts = self._acted((3, 1))
        except UsageError as error:
            if start > _REALISTIC and error.__cause__:  # the trainer's own arithmetic
                return None
            raise UsageError(f"{error}{self.set_to}") from error
        return steps

    def ends(self):
        """Steps whose rewards are 0, and in which none or all of the experiences are terminal."""
        self.set_to = " (with rewards of 0, or batches in which no episode or all end)"
        return [self._step(rewarded=rewarded, ended=ended) for rewarded, ended in _ENDS]

    def extreme(self, seen, rewarded, scale):
        """Steps whose observations, rewards and weights are larger by factors."""
        self.set_to = f" (with rewards of the order of {rewarded:g})"
        steps = [self._step(seen, rewarded, scale) for _ in range(STEPS)]
        self.acts = self._acted((3, 1))
        return steps

    def acting_windows(self):
        """Yields the steps of windows in which a number that ``get_action`` counts soon reaches one
        that the trainer has; their actions are then ``self.acts``."""
        for target in self._targets():
            for name, slope in self._acting.items():
                place = self._reach().places.get(name)
                value = target - 2 * slope
                if place is not None and place.holds(value) and place.holds(value + slope):
                    place.put(value)
                    self.set_to = f" (with {name} set to {value:g})"
                    acts = self._acted((1,) * 5)
                    steps = [self._step() for _ in range(2)]
                    self.acts = acts + self._acted((3, 1))
                    yield steps

    def _targets(self):
        return sorted({*self._constants, 2, *_FAR})

    def _shift(self, start, counted):
        """Sets all counters as after ``start`` updates, and the optimizers' own counters and the
        clock as after ``counted``. False, and nothing is set, if one cannot hold it."""
        now, delta, interval = self._reach().places, start - self._at, self._interval
        due, wanted = start // interval - self._at // interval, {}
        for changes, count in ((self._slopes, delta), (self._periods, due)):
            for name in changes.keys() & now.keys():
                wanted[name] = now[name].value + changes[name] * count
                if not (now[name].holds(wanted[name]) and now[name].holds(wanted[name] + 1)):
                    return False
        for name, value in wanted.items():
            now[name].put(value)
        for parameter, state in self._states():
            if "step" in state:
                each = interval if id(parameter) in self._late else 1
                step = int(state["step"]) + counted // each - self._clock.updates // each
                over = max(0, step - _EXACT)
                state["step"] = state["step"] * 0 + max(0, step - -(-over // interval) * interval)
        self._at, self._clock.updates = start, counted
        self.places += 1
        named = [f"{name} set to {wanted[name]:g}" for name in self._slopes if name in wanted]
        self.set_to = f" (with {', '.join(named[:3]) or f'{start} updates done'})"
        return True

    def _reach(self):
        reach = Reach(self.trainer)
        for name, what in reach.opaque.items():
            raise UsageError(f"{name} must be absent to train on the card, not {what}")
        return reach

    # -- steps

    def _update(self, batch):
        errors = self._updater.step(batch, self._clock)
        self._clock.updates += 1
        self._at += 1
        self._done += 1
        if self._returned not in (None, errors is None):
            raise UsageError(
                "update_policy must return TD errors of all batches or of none to train on the "
                "card, not of some"
            )
        self._returned = errors is None
        before = self._rates | self._contract
        for name, value in (self._rates_now() | self._contract_now()).items():
            if value != before.get(name):
                raise UsageError(
                    f"{name} must be constant to train on the card, not {before.get(name)!r} and "
                    f"then {value!r}"
                )
        return errors

    def _step(self, seen=1, rewarded=1, scale=1, ended=1 / 3):
        """Records a step. ``seen`` and ``rewarded`` are factors of observations and rewards, and
        ``scale`` of weights; ``ended`` is the share of terminal experiences."""
        self._move(scale)
        self._move_moments(scale)
        batch = self._batch(seen, rewarded, ended)
        before, done = self._numbers(), self._clock.updates
        self.count += 1
        td = self._update(batch)
        return Step(done, batch, td, before, self._numbers())

    def _batch(self, seen=1, rewarded=1, ended=1 / 3):
        """Random experiences; the share ``ended`` is terminal."""
        agent, spec, rng = self._agent, self._spec, self._rng
        rows = agent.batch_size
        obs, following = (seen * rng.normal(size=(rows, spec.size)) for _ in range(2))
        weights = rng.uniform(0.2, 1, rows)
        discount = agent.gamma ** rng.integers(1, agent.n_step + 1, rows)
        discount[: round(ended * rows + rng.uniform(-0.4, 0.4) * (0 < ended < 1))] = 0
        batch = {
            "obs": obs,
            "next_obs": following,
            "reward": rewarded * rng.normal(size=rows),
            "discount": rng.permutation(discount),
            "weights": weights / weights.max(),  # as those of a replay memory
        }
        batch = {name: array.astype(np.float32) for name, array in batch.items()}
        if spec.discrete:  # every action in turn, from a random one on
            actions = rng.integers(spec.action_count) + np.arange(rows)
            return batch | {"action": rng.permutation(actions % spec.action_count)}
        shape = rows, spec.action_count
        return batch | {"action": rng.uniform(-1, 1, shape).astype(np.float32)}

    def _acted(self, sizes, factor=1):
        """The Acts for one call for each of ``sizes``, numbers of rows; observations of every
        second one are larger by ``factor``."""
        found, before = [], self._numbers()
        for number, rows in enumerate(sizes):
            obs = self._rng.normal(size=(rows, self._spec.size)) * (factor if number % 2 else 1)
            obs = obs.astype(np.float32)
            found.append(Act(before, obs, self.policy.act(obs, greedy=True)))
        if not _equal(before, self._numbers()):
            raise UsageError("get_action must leave the networks as they are to train on the card")
        return found

    # -- networks and optimizers

    def _rates_now(self):
        return {
            f"{name}.{field}": value
            for name, optimizer in optimizers_of(self.trainer).items()
            for group in optimizer.param_groups
            for field, value in group.items()
            if field != "params"
        }

    def _contract_now(self):
        return contract_numbers(self.trainer, self._reading.algorithm)

    def _states(self):
        """(parameter, its state) of all optimizers."""
        for optimizer in optimizers_of(self.trainer).values():
            yield from optimizer.state.items()

    def _sizes_of_moments(self):
        """The root of the mean square of every moment."""
        return {
            id(parameter): {
                name: state[name].square().mean().sqrt().item() or 1e-3
                for name in _MOMENTS.keys() & state.keys()
                if state[name] is not None
            }
            for parameter, state in self._states()
        }

    def _move_moments(self, scale):
        """Makes moments random, of the size that they had before the recording, so that no step
        hides what another one does, and no unit that was dead has moments of 0, which Adam would
        divide the rounding errors of its gradient by; ``scale`` is the gradient's."""
        for parameter, state in self._states():
            for name, size in self._moments.get(id(parameter), {}).items():
                noise = _noise(self._rng, parameter, size * scale)
                if _MOMENTS[name] == "second":
                    noise = (noise.abs() + 0.5 * size * scale) * scale
                state[name].copy_(noise)

    def _pairs(self, name):
        module = modules_of(self.trainer)[name]
        if module not in self._linears:  # which is read once
            self._linears[module] = read_layers(module, name).linears
        return [(x.weight, x.bias) for x in self._linears[module]]

    def _networks(self):
        for ours, network in self._reading.networks.items():
            optimizer = optimizers_of(self.trainer)[network.optimizer]
            pairs = zip(self._pairs(network.online), self._pairs(network.target), strict=True)
            yield ours, optimizer, pairs

    def _move(self, scale):
        rng = self._rng
        with torch.no_grad():
            for _, _, pairs in self._networks():
                for mine, theirs in pairs:
                    for value, other in zip(mine, theirs, strict=True):
                        wide = scale * mine[0].shape[1] ** -0.5
                        value.copy_(_noise(rng, value, 1.5 * wide) * _chosen(rng, value))
                        near = value + _noise(rng, value, 0.05 * scale)
                        other.copy_(near * _chosen(rng, value))

    def _numbers(self):
        """The numbers of all networks, as ``before`` of Step."""
        return {
            ours: [_layer(mine, theirs, optimizer.state) for mine, theirs in pairs]
            for ours, optimizer, pairs in self._networks()
        }

    def restore(self):
        """Sets the numbers that trainers of this class share as they were before."""
        places = Reach(self._agent.CONTRACT.kind).places
        for name, value in self._kept.items():
            if name in places and places[name].value != value:
                places[name].put(value)


#: Rows of the calls of ``get_action`` after the first steps.
_ROWS = (1, 64, 2, 33, 1, 5, 100, 1, 1, 17, 16, 15)


def _counting(seen, early):
    """``(slopes, periods, wraps)`` of numbers as they were ``seen`` before and after each step, and
    ``early``, a period before the last time. Slopes are changes per step, of numbers that change
    alike in all steps; periods are changes of other numbers per period; ``wraps``: whether a number
    changes, but not over a period."""
    slopes, periods, wraps = {}, {}, False
    for name, last in seen[-1].items():
        values = [each.get(name) for each in seen]
        if None in values or len(set(values)) == 1:
            continue
        steps = np.diff(np.array(values, np.float64))
        if np.allclose(steps, steps[0], rtol=1e-3, atol=0):
            slopes[name] = values[1] - values[0]
        elif change := last - early.get(name, last):
            periods[name] = change
        else:
            wraps = True
    return slopes, periods, wraps


def _noise(rng, like, deviation):
    noise = rng.normal(0, deviation, tuple(like.shape)).astype(np.float32)
    return torch.from_numpy(noise)


def _chosen(rng, like):
    """1 for about half of the numbers of a tensor, else 0."""
    return torch.from_numpy(rng.integers(2, size=tuple(like.shape)).astype(np.float32))


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


def _equal(one, other):
    """Whether two results of ``Recording._numbers`` are equal."""
    return all(
        np.array_equal(a, b)
        for name, layers in one.items()
        for mine, theirs in zip(layers, other[name], strict=True)
        for each in mine
        for a, b in zip(mine[each], theirs[each], strict=True)
    )
