"""The twin of the units that play: environments, exploration, windows and episodes.

It composes the twins of the units, which share one generator, and knows neither commands nor
memory. ``hw.learner.play.play_contract`` says what each step does.
"""

from typing import NamedTuple

import numpy as np

from hw.environment.task_program import REGISTERS
from hw.learner.play.episodes import LARGEST_WINDOW
from hw.learner.play.play_contract import SAVED
from sim.model.environment.machine import Items, Machine
from sim.model.learner.play.episodes import RETURN, TOTAL, Episodes, signed
from sim.model.learner.play.explore import Explore
from sim.model.learner.play.windows import Windows

__all__ = ["Played", "Player", "wrong_word"]

_BEGUN, _STEPPED, _ACTIONS, _STATE, _SECTIONS = 2, 3, 4, 5, 7


class Played(NamedTuple):
    """The results of a vector step.

    experiences : list of uint32 arrays, the words of each.
    episodes : list of ``(place, EPISODE)``.
    clipped : bool [environments].
    """

    experiences: list
    episodes: list
    clipped: np.ndarray


def wrong_word(words, observation):
    """The position of the first wrong word in ``words``, integers of 36 bits, which should be an
    image of a task with ``observation`` numbers; their count if they end too soon. None if they are
    right."""
    lengths = {_BEGUN: observation, _STEPPED: observation + 1, _ACTIONS: 1}
    came, at, more = set(), 0, True
    while more:
        if at >= len(words):
            return len(words)
        header = int(words[at])
        section, first, last, more = header % 8, header >> 3 & 255, header >> 11 & 255, header >> 19
        length, more = last - first + 1, more & 1
        wrong = section == _SECTIONS or length < 1 or length != lengths.get(section, length)
        if wrong or (section == _STATE and length > REGISTERS):
            return at
        came.add(section)
        at += 1 + length
    if at > len(words) or (at == len(words) and len(came) < _SECTIONS):
        return len(words)
    return at if at < len(words) else None


class _Generator:
    """NumPy's SFC64 on the state that a Machine draws from."""

    def __init__(self, machine):
        self._machine, self._bits = machine, np.random.SFC64(0)

    def random_raw(self, count):
        words = self._machine.generator[:, 0]
        state = {"state": {"state": words.copy()}, "has_uint32": 0, "uinteger": 0}
        self._bits.state = {"bit_generator": "SFC64", **state}
        numbers = self._bits.random_raw(count)
        words[:] = self._bits.state["state"]["state"]
        return numbers


class Player:
    """Environments that play for ``config``, a LearnerKernelConfig.

    Attributes
    ----------
    observations : float32 [environments, observation]
        What the environments show.
    step : int
        Number of the next vector step.
    clipped : int
        Bit e: a number of environment e has left its format.
    explore, windows, episodes
        The units' twins.
    """

    def __init__(self, config):
        self._count, self._longest = config.play.environments, config.play.longest
        self._size, count = config.learner.observation, self._count
        self._machine, self._states, self._shift = Machine(count), 0, 0
        self.explore = Explore(count, config.learner.action, _Generator(self._machine))
        self.windows, self.episodes = Windows(count), Episodes(count)
        self.observations = np.zeros((count, self._size), np.float32)
        self.step = self.clipped = 0

    @property
    def generator(self):
        """The play generator's state, uint64 [4]."""
        return self._machine.generator[:, 0]

    def load(self, words, shift, state):
        """Takes the words of an image that ``wrong_word`` finds right, fraction bits of an action's
        word, and the generator's state."""
        self._machine.load(words)
        self._states = len(self._machine.save().T)
        self._shift, self.generator[:] = shift, state

    def begin(self, n, discount, scale, window):
        """Begins all anew. Returns which environments clipped a number, bool [environments]."""
        self.clipped = 0
        self.windows.start(n, discount, scale)
        self.episodes.start(window)
        began = self._machine.begin(np.ones(self._count, bool))
        self.observations = _seen(began.word, began.fraction)
        self._mark(began.clipped)
        return began.clipped

    def play(self, act, decrement, end, records):
        """A vector step. ``act(observations)`` gives Q values, float32 [environments, actions];
        epsilon becomes less by ``decrement``, not below ``end``. The ring of episodes has
        ``records`` places. Returns Played."""
        values = act(self.observations) if self.explore.step(decrement, end) else None
        actions = self.explore.act(values)
        items: Items = self._machine.step(actions[:, None] << self._shift)
        terminated, truncated, clipped = items.terminated, items.truncated, items.clipped.copy()
        reward, fraction = items.word[:, -1], int(items.fraction[-1])
        seen = _seen(items.word[:, :-1], items.fraction[:-1])
        before, after = (each.view(np.uint32) for each in (self.observations, seen))
        episodes = self.episodes.push(self.step, reward, fraction, terminated, truncated, records)
        experiences = self.windows.push(
            before, after, actions[:, None], reward, fraction, terminated, truncated
        )
        ended = terminated | truncated
        self.observations = seen.copy()
        if ended.any():
            began = self._machine.begin(ended)
            self.observations[ended] = _seen(began.word, began.fraction)
            clipped[ended] |= began.clipped
        self._mark(clipped)
        self.step = (self.step + 1) % (1 << 32)
        return Played(experiences, episodes, clipped)

    def _mark(self, clipped):
        self.clipped |= sum(1 << int(each) for each in np.flatnonzero(clipped))

    # -- words of SAVE

    def save(self):
        """All words, uint32."""
        count, saved = self._count, np.zeros((), SAVED.dtype)
        n, discount, scale = self.windows.settings
        window = self.episodes.size.bit_length() - 1
        for name, value in dict(n=n, window=window, discount=discount, scale=scale).items():
            saved[name] = value
        saved["state"], saved["total"] = self.generator, self.episodes.total
        saved["episodes"] = self.episodes.ended
        states = np.zeros((count, REGISTERS), np.int32)
        states[:, : self._states] = self._machine.save()
        running = [[total & 0xFFFFFFFF, total >> 32 & 0xFFFFFFFF, steps]
                   for total, steps in self.episodes.running]  # fmt: skip
        windows = np.zeros((count, 1 + self._longest * (self._size + 2)), np.uint32)
        for row, steps in zip(windows, self.windows.open, strict=True):
            row[0] = len(steps)
            for k, (obs, action, reward) in enumerate(steps):
                begin = 1 + k * (self._size + 2)
                row[begin : begin + self._size + 2] = *obs, *action, reward & 0xFFFFFFFF
        returns, kept = np.zeros(LARGEST_WINDOW, np.int64), self.episodes.window
        for k, each in enumerate(reversed(kept), 1):
            returns[(self.episodes.ended - k) % LARGEST_WINDOW] = each
        parts = (np.atleast_1d(saved), states, self.observations,
                 np.array(running, np.uint32), windows, returns)  # fmt: skip
        return np.concatenate([np.ascontiguousarray(p).view(np.uint32).ravel() for p in parts])

    def resume(self, words):
        """Takes what ``save`` gave, uint32. Returns the first word that is wrong, or None."""
        head, words = words[: SAVED.size // 4], words[SAVED.size // 4 :]
        saved = np.ascontiguousarray(head).view(SAVED.dtype)[0]
        self.clipped, self.generator[:] = 0, saved["state"]
        n, window, discount = (int(saved[name]) for name in ("n", "window", "discount"))
        ended, total = int(saved["episodes"]), signed(int(saved["total"]), TOTAL)
        idle = [(0, 0)] * self._count
        self.episodes.resume(min(window, 7), idle, ended, total, [])
        for word, right in enumerate((1 <= n <= self._longest, window <= 7, discount <= 1 << 31)):
            if not right:
                return word
        count, size = self._count, self._size
        sizes = REGISTERS, size, 3, 1 + self._longest * (size + 2)
        states, seen, running, windows = (
            part.reshape(count, -1) for part in np.split(words, np.cumsum(sizes)[:4] * count)[:4]
        )
        returns = words[sum(sizes) * count :].view(np.int64)
        self._machine.restore(states[:, : self._states].view(np.int32))
        self.observations = seen.copy().view(np.float32)
        self.windows.start(n, discount, int(saved["scale"]))
        begin, opened = SAVED.size // 4 + (REGISTERS + size + 3) * count, []
        for number, row in enumerate(windows):
            if row[0] >= n:
                return begin + number * len(row)
            steps = row[1 : 1 + int(row[0]) * (size + 2)].reshape(-1, size + 2)
            opened.append(
                [(step[:size], step[size : size + 1], signed(int(step[-1]), 32)) for step in steps]
            )
        self.windows.open = opened
        kept = min(ended, 1 << window)
        self.episodes.resume(
            window,
            [(signed(int(low) | int(high) << 32, RETURN), int(steps) & 0xFFFF)
             for low, high, steps in running],
            ended,
            total,
            [signed(int(returns[(ended - k) % LARGEST_WINDOW]), RETURN)
             for k in range(kept, 0, -1)],
        )  # fmt: skip
        return None


def _seen(word, fraction):
    """Words as binary32, rounded to nearest even once."""
    return np.ldexp(word.astype(np.float64), -fraction.astype(np.int64)).astype(np.float32)
