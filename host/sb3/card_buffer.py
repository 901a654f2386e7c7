"""The replay buffer of stable-baselines3 on a prioritized memory of rlfabric.

Experiences are on the card. Steps and new priorities wait here until the next draw, so that a
gradient step is one launch.
"""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from gymnasium import spaces

from host.replay.experience import checked_items, record_dtype
from host.sb3.windows import Windows
from host.values import held
from hw.errors import UsageError
from hw.extras import needed

needed("stable_baselines3", "sb3", "for rlfabric.sb3")

from stable_baselines3.common.buffers import BaseBuffer, ReplayBuffer  # noqa: E402
from stable_baselines3.common.type_aliases import (  # noqa: E402
    DictReplayBufferSamples,
    ReplayBufferSamples,
)

__all__ = ["CardBuffer", "PrioritizedSamples"]

#: Steps that wait for a launch, at most, and their bytes.
_WAITING, _WAITING_BYTES = 256, 1 << 22
#: Whether samples of this release of stable-baselines3 have discounts (n-step returns).
_DISCOUNTS = "discounts" in ReplayBufferSamples._fields


class PrioritizedSamples(NamedTuple):
    """A batch: tensors as in ``ReplayBufferSamples``, on the buffer's device, and what prioritized
    replay adds.

    observations, next_observations : tensor [batch, ...], or dict of tensors
    actions : tensor [batch, components]
    dones, rewards : float32 [batch, 1]
    discounts : float32 [batch, 1], ``gamma**k`` for k rewards; None if ``n_steps`` is 1
    weights : float32 [batch, 1], ``(N P(i))**-beta``, divided by the largest of the batch
    indexes : int64 array [batch], for ``update_priorities``
    """

    observations: object
    actions: object
    next_observations: object
    dones: object
    rewards: object
    discounts: object
    weights: object
    indexes: np.ndarray


class CardBuffer(ReplayBuffer):
    """The base class of ``rlfabric.sb3.PrioritizedReplayBuffer``, which says how the memory is
    opened: ``_opened(card, fields, capacity, **options)`` returns it."""

    def __init__(
        self,
        buffer_size,
        observation_space,
        action_space,
        device="auto",
        n_envs=1,
        optimize_memory_usage=False,
        handle_timeout_termination=True,
        *,
        card,
        beta,
        n_steps,
        gamma,
        seed,
        options,
    ):
        if optimize_memory_usage:
            raise UsageError(
                "optimize_memory_usage must be False, not True: the memory has each observation "
                "with its successor"
            )
        if isinstance(n_steps, bool) or not isinstance(n_steps, int) or not 1 <= n_steps <= 256:
            raise UsageError(f"n_steps must be an integer in 1..256, not {n_steps!r}")
        if not 0 <= gamma <= 1:
            raise UsageError(f"gamma must be in 0..1, not {gamma!r}")
        # ReplayBuffer's own __init__ would allocate a second memory.
        BaseBuffer.__init__(self, buffer_size, observation_space, action_space, device, n_envs)
        self.buffer_size = max(buffer_size // n_envs, 1)
        self.optimize_memory_usage = False
        self.handle_timeout_termination = handle_timeout_termination
        self.n_steps, self.gamma, self.beta = n_steps, gamma, beta
        self.beta_at(1.0)
        # An algorithm has seeded NumPy's generator, with its own seed.
        seed = int(np.random.randint(1 << 31)) if seed is None else seed
        self._card, self._options, self._warned = card, dict(options, seed=seed), False
        if self.buffer_size * n_envs < 2:
            raise UsageError(f"buffer_size must be at least 2 for a tree, not {buffer_size!r}")
        self._capacity = self.buffer_size * n_envs
        self._shapes = self.obs_shape if self._by_key else {"": self.obs_shape}
        self._seen = [f"observation/{key}" for key in self._shapes]
        self._followed = [f"next_observation/{key}" for key in self._shapes]
        self._fields = self._fields_of(observation_space, action_space)
        dtype = record_dtype(self._fields)
        self._windows = None
        if n_steps > 1:
            self._windows = Windows(dtype, n_steps, n_envs, self._seen, self._followed)
        room = max(n_envs * n_steps, min(_WAITING, _WAITING_BYTES // dtype.itemsize))
        # Of more than its capacity at once a memory stores the last, from its position on.
        self._waiting = np.zeros(min(room, self._capacity), dtype)
        self._step = np.zeros(n_envs, dtype)
        self._state = None
        self._forget()
        self._memory = self._open(card)

    @property
    def _by_key(self):
        return isinstance(self.observation_space, spaces.Dict)

    def _fields_of(self, observation_space, action_space):
        """The fields of an experience, as a memory takes them."""
        fields = {}
        for names in (self._seen, self._followed):
            for name, (key, shape) in zip(names, self._shapes.items(), strict=True):
                own = observation_space[key] if self._by_key else observation_space
                fields[name] = own.dtype, shape
        kind = np.dtype(action_space.dtype)
        fields["action"] = np.float32 if kind == np.float64 else kind, (self.action_dim,)
        fields["reward"] = np.float32, (self.n_steps,)
        fields["done"] = np.float32, (1,)  # terminated: what is not bootstrapped
        fields["timeout"] = np.float32, (1,)
        if self.n_steps > 1:
            fields["length"] = np.int32, (1,)
        return fields

    # -- the memory

    def _opened(self, card, fields, capacity, **options):
        raise NotImplementedError

    def _open(self, card):
        return self._opened(card, self._fields, self._capacity, **self._options)

    @property
    def memory(self):
        """The memory on the card, with all steps and priorities that were given so far. After
        unpickling, the first use opens the card."""
        self._settle()
        return self._memory

    def _settle(self, draws=None):
        """Gives the memory what waits, in one launch with ``draws``; returns their batches."""
        if self._memory is None:
            self._memory = self._open(self._card)
            self._memory.load_state_dict(self._state)
            self._state = None
        records = self._waiting[: self._waits] if self._waits else None
        if records is None and self._update is None and draws is None:
            return None
        batches = self._memory.step(records, self._update, draws)
        self._update, self._waits = None, 0
        return batches

    def _forget(self):
        self._waits, self._count, self._update = 0, 0, None
        self.pos, self.full = 0, False

    def close(self):
        """Releases the card. The buffer must not be used afterwards."""
        if self._memory is not None:
            self._memory.close()

    def move(self, card):
        """Moves everything that is stored to another ``card``, and releases the one before."""
        state = self._kept()
        self.close()
        self._memory, self._card, self._state = None, card, state
        self._settle()

    def _kept(self):
        return self._state if self._memory is None else self.memory.state_dict()

    def __getstate__(self):
        """The state, and the card's name instead of the card."""
        state = self.__dict__ | {"_state": self._kept(), "_memory": None}
        card = self._card
        state["_card"] = card if isinstance(card, str) else getattr(card, "card", card).name
        return state

    # -- stable-baselines3's methods

    def add(self, obs, next_obs, action, reward, done, infos):
        """Stores a step of all environments, arrays [n_envs, ...] or dicts of arrays; they enter
        with the largest priority so far."""
        step, count = self._step, self.n_envs
        if not self._by_key:
            obs, next_obs = {"": obs}, {"": next_obs}
        for names, given in ((self._seen, obs), (self._followed, next_obs)):
            for name, (key, shape) in zip(names, self._shapes.items(), strict=True):
                step[name] = np.reshape(given[key], (count, *shape))
        step["action"] = np.reshape(action, (count, self.action_dim))
        step["reward"][:, 0] = reward
        step["done"][:, 0] = done
        step["timeout"] = 0
        if self.handle_timeout_termination:
            cut = [bool(info.get("TimeLimit.truncated", False)) for info in infos]
            if any(cut):
                step["timeout"][:, 0] = cut
                step["done"][cut] = 0
        if self._windows is None:
            self._put(step)
        else:
            step["length"] = 1
            self._put(self._windows.push(step))

    def _put(self, records):
        for begin in range(0, len(records), len(self._waiting)):
            part = records[begin : begin + len(self._waiting)]
            if self._waits + len(part) > len(self._waiting):
                self._settle()
            self._waiting[self._waits : self._waits + len(part)] = part
            self._waits += len(part)
        self._count += len(records)
        self.pos = self._count // self.n_envs % self.buffer_size
        self.full = self._count >= self._capacity

    def reset(self):
        """Forgets everything that is stored."""
        self.memory.clear()
        if self._windows is not None:
            self._windows.clear()
        self._forget()

    def sample(self, batch_size, env=None):
        """Draws a batch by priority for an algorithm that knows no weights; ``env`` normalizes it.
        UserWarning the first time, since such an algorithm does not learn as by prioritized
        replay."""
        if not self._warned:
            self._warned = True
            warnings.warn(
                "importance weights are not applied, and priorities stay as they are: "
                "rlfabric.sb3 has PrioritizedDQN, PrioritizedTD3 and PrioritizedSAC, which do both",
                stacklevel=2,
            )
        if self.n_steps > 1 and not _DISCOUNTS:
            raise UsageError(
                f"n_steps must be 1 with this release of stable-baselines3, not {self.n_steps}: "
                "its algorithms take no discounts; PrioritizedDQN and the others do"
            )
        return self._plain(self.sample_prioritized(batch_size, env))

    def sample_prioritized(self, batch_size, env=None, progress_remaining=1.0):
        """Draws ``batch_size`` experiences: PrioritizedSamples.

        env : VecNormalize or None, which normalizes observations and rewards
        progress_remaining : share of the training that is left, for a ``beta`` that is a function
        """
        return self._samples(self._drawn(batch_size, self.beta_at(progress_remaining)), env)

    def _get_samples(self, batch_inds, env=None):
        # Nothing here draws so; it reads all that is stored.
        rows = np.asarray(batch_inds)
        indexes = rows * self.n_envs + np.random.randint(0, self.n_envs, rows.shape)
        batch = {name: x[indexes] for name, x in self.memory.get_all_transitions().items()}
        weights = np.ones(len(rows), np.float32)
        return self._plain(self._samples(batch | {"weights": weights, "indexes": indexes}, env))

    def _samples(self, batch, env):
        reward, discounts = self._normalize_reward(batch["reward"], env), None
        if self.n_steps > 1:
            length = batch["length"]
            steps = np.arange(self.n_steps, dtype=np.float32)
            reward = np.where(steps < length, self.gamma**steps * reward, 0).sum(1, keepdims=True)
            discounts = self._tensor((self.gamma ** length.astype(np.float32)).astype(np.float32))
        return PrioritizedSamples(
            self._observations(batch, self._seen, env),
            self._tensor(batch["action"]),
            self._observations(batch, self._followed, env),
            self._tensor(batch["done"]),
            self._tensor(reward.astype(np.float32, copy=False)),
            discounts,
            self._tensor(batch["weights"][:, None]),
            batch["indexes"],
        )

    def _plain(self, samples):
        kind = DictReplayBufferSamples if self._by_key else ReplayBufferSamples
        return kind(*samples[: len(kind._fields)])

    def update_priorities(self, indexes, td_errors):
        """``priority = (|td_error| + epsilon)**alpha`` of the experiences at ``indexes``, arrays
        [n]; ``td_errors`` may be a tensor. Both are copied. UsageError for another shape, for an
        index of nothing that is stored, and for a TD error that is not finite."""
        fill = min(self._count, self._capacity)
        indexes, errors = checked_items(fill, "td_errors", indexes, td_errors)
        update = indexes.astype(np.int64), held("td_errors", errors, np.float32).copy()
        if self._waits or self._update is not None:
            self._settle()  # steps that came before may overwrite what is updated
        self._update = update

    def beta_at(self, progress_remaining):
        """The exponent of the weights."""
        beta = self.beta(progress_remaining) if isinstance(self.beta, Callable) else self.beta
        if not 0 <= beta <= 1:
            raise UsageError(f"beta must be in 0..1, or a function with such values, not {beta!r}")
        return float(beta)

    # -- draws

    def _drawn(self, count, beta):
        fill = min(self._count, self._capacity)
        if not fill:
            raise UsageError("batch_size must be drawn from experiences, not from an empty buffer")
        if count <= fill:
            return self._settle([(count, beta)])[0]
        # The algorithms draw more than is stored at first, and a memory at most its fill at once.
        sizes = [fill] * (count // fill) + [count % fill] * (count % fill > 0)
        parts = self._settle([(size, beta) for size in sizes])
        batch = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        # Each part's weights are divided by its own largest: they are made anew for the whole.
        priorities = self._memory.priorities().astype(np.float64)
        chance = priorities[batch["indexes"]] / priorities.sum()
        weights = (fill * chance) ** -beta
        return batch | {"weights": (weights / weights.max()).astype(np.float32)}

    def _tensor(self, array):
        return self.to_torch(array, copy=False)

    def _observations(self, batch, names, env):
        found = dict(zip(self._shapes, (batch[name] for name in names), strict=True))
        if not self._by_key:
            return self._tensor(self._normalize_obs(found[""], env))
        return {key: self._tensor(x) for key, x in self._normalize_obs(found, env).items()}

    # -- what is stored, as stable-baselines3 has it

    def _array(self, name):
        """A field of all experiences, read-only [buffer_size, n_envs, ...], zeros where nothing is
        stored yet."""
        kind = self._waiting.dtype[name]
        found = np.zeros((self._capacity, *kind.shape), kind.base)
        stored = self.memory.get_all_transitions()[name]
        found[: len(stored)] = stored
        found.flags.writeable = False
        return found.reshape(self.buffer_size, self.n_envs, *kind.shape)

    def _arrays(self, names):
        found = dict(zip(self._shapes, map(self._array, names), strict=True))
        return found if self._by_key else found[""]

    observations = property(lambda self: self._arrays(self._seen))
    next_observations = property(lambda self: self._arrays(self._followed))
    actions = property(lambda self: self._array("action"))
    rewards = property(lambda self: self._array("reward")[..., 0])
    timeouts = property(lambda self: self._array("timeout")[..., 0])

    @property
    def dones(self):
        """Ends of episodes, also by a time limit."""
        found = np.maximum(self._array("done")[..., 0], self.timeouts)
        found.flags.writeable = False
        return found
