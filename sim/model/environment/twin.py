"""The twin of the barrel machine: runs the words of a program for many environments at once.

An instruction is decoded once for a block of environments, whose registers are rows of 32-bit
integers, so that the loop over a block is a vector loop. Each environment draws from an SFC64 of
its own, seeded as NumPy's: its numbers depend neither on its place nor on its neighbours.
"""

import numpy as np

from hw.errors import UsageError
from sim.compiled import compiled

__all__ = ["BLOCK", "DROPPED", "Environments", "decoded", "operands", "run", "seeded"]

#: environments whose registers are in the processor's first cache at a time
BLOCK = 64
#: The row of results that no register takes; constants have the rows after it.
DROPPED = 32
_LOW, _HIGH = -(1 << 31), (1 << 31) - 1
_MUL, _ADD, _SUB, _MIN, _MAX, _SELECT, _LESS = range(7)


def seeded(seeds):
    """States of NumPy's SFC64 for integer seeds, uint64 [4, len(seeds)]."""
    states = [np.random.SFC64(int(seed)).state["state"]["state"] for seed in seeds]
    return np.array(states, np.uint64).T.copy()


class Environments:
    """``count`` environments of one Program.

    Parameters
    ----------
    program : hw.environment.task_program.Program
    limit : int
        Steps after which an episode is truncated.
    actions : int or dict of str to (float, float)
        As of a Task. A continuous action beyond its bounds is as the bound.
    count : int
        Environments.

    Attributes
    ----------
    state : int32 [state_count, count]
        Words of the state.
    length : int64 [count]
        Steps since the last reset.
    generator : uint64 [4, count]
        States of the environments' generators.
    """

    def __init__(self, program, limit, actions, count):
        self.program, self._limit, self._count = program, limit, count
        words = np.array(program.words, np.int64)
        rows, fractions = zip(*program.observation, strict=True)
        work = np.zeros((DROPPED + 1 + len(program.constants), min(BLOCK, count)), np.int32)
        work[DROPPED + 1 :] = np.array(program.constants, np.int64)[:, None]
        self.state = np.zeros((program.state_count, count), np.int32)
        self.length = np.zeros(count, np.int64)
        self.generator = np.zeros((4, count), np.uint64)
        self._actions = np.zeros((program.action_count, count), np.int32)
        self._choices = actions if isinstance(actions, int) else 0
        self._shift = program.action_fractions[0]
        self._bounds = None if self._choices else np.array(list(actions.values()), np.float64)
        self._code = decoded(words[: program.reset_start]), decoded(words[program.reset_start :])
        self._work = work, np.zeros(work.shape[1], np.int64), np.zeros(work.shape[1], np.bool_)
        self._rows = np.array(rows), np.ldexp(1.0, -np.array(fractions))
        self._scales = np.ldexp(1.0, np.array(program.action_fractions))
        self._reward_scale = 2.0**-program.reward_fraction

    def reset(self, which=None):
        """Begins new episodes of the environments ``which``, or of all. Returns the observations,
        float32 [len(which), numbers]."""
        which = np.arange(self._count) if which is None else np.asarray(which, np.int64)
        seen = np.empty((len(which), len(self._rows[0])), np.float32)
        _reset(self._code[1], *self._work, self.state, self.length, self.generator, which,
               *self._rows, seen, False)  # fmt: skip
        return seen

    def step(self, actions, autoreset=True):
        """A step of all environments; with ``autoreset`` an environment whose episode ends begins
        the next one at once.

        Parameters
        ----------
        actions : integers [count], or real numbers [count, actions]

        Returns
        -------
        observation : float32 [count, numbers]
            After the reset where an episode has ended.
        reward : float64 [count]
        terminated, truncated : bool [count]
        final : float32 [count, numbers]
            Observations before the reset; valid where an episode has ended.
        ended : int
            Episodes that have ended.

        UsageError, before anything has changed, for an action that is none.
        """
        count, numbers = self._count, len(self._rows[0])
        seen, final = (np.empty((count, numbers), np.float32) for _ in range(2))
        reward = np.empty(count)
        terminated, truncated = np.empty(count, np.bool_), np.empty(count, np.bool_)
        what, kinds = ("integers", "iu") if self._choices else ("real numbers", "iuf")
        if actions.dtype.kind not in kinds:
            raise UsageError(f"actions must be {what}, not of type {actions.dtype}")
        if self._choices:
            bad = _choose(actions, self._choices, self._shift, self._actions)
        else:
            words = actions.astype(np.float64, copy=False)
            bad = _quantize(words, self._bounds, self._scales, self._actions)
        if bad >= 0:
            rule = f"in 0..{self._choices - 1}" if self._choices else "numbers"
            raise UsageError(f"actions must be {rule}, not {actions[bad]} of environment {bad}")
        ended = _step(
            self._code[0], self._code[1], *self._work, self.state, self._actions, self.length,
            self._limit, self.generator, *self._rows, self._reward_scale, autoreset,
            seen, reward, terminated, truncated, final,
        )  # fmt: skip
        return seen, reward, terminated, truncated, final, ended


def operands(words):
    """Rows of the operands a and b of instructions."""
    fields = (words >> 8) & 0x1FF, (words >> 17) & 0x1FF
    return [np.where(each >> 8, DROPPED + 1 + (each & 0xFF), each & 0x1F) for each in fields]


def decoded(words):
    """Instructions as rows (opcode, destination, a, b, shift), int64."""
    to = np.where((words >> 29) & 1, (words >> 3) & 31, DROPPED)
    if (words >> 30).any():
        raise UsageError("words must be instructions, whose fraction bits are 0")
    return np.stack((words & 7, to, *operands(words), 24 + ((words >> 26) & 7)), 1)


@compiled
def _choose(actions, choices, shift, words):
    """Writes discrete actions to ``words``; returns the first that is not below ``choices``."""
    for j in range(len(actions)):
        if not 0 <= actions[j] < choices:
            return j
        words[0, j] = np.int32(actions[j] << shift)
    return -1


@compiled
def _quantize(actions, bounds, scales, words):
    """``words [actions, count]``: ``floor(clip(x) 2^fraction + 1/2)``; returns the first
    environment with an action that is not a number."""
    for j in range(words.shape[1]):
        for i in range(words.shape[0]):
            x = float(actions[j, i])
            if np.isnan(x):
                return j
            x = min(max(x, bounds[i, 0]), bounds[i, 1]) * scales[i]
            below = np.floor(x)
            words[i, j] = np.int32(min(below + (1 if x - below >= 0.5 else 0), _HIGH))
    return -1


@compiled
def _random(generator, i):
    """The low 32 bits of SFC64's next number, as a signed word."""
    a, b, c, counter = generator[0, i], generator[1, i], generator[2, i], generator[3, i]
    number = a + b + counter
    generator[0, i] = b ^ (b >> np.uint64(11))
    generator[1, i] = c + (c << np.uint64(3))
    generator[2, i] = ((c << np.uint64(24)) | (c >> np.uint64(40))) + number
    generator[3, i] = counter + np.uint64(1)
    return np.int32(np.uint32(number & np.uint64(0xFFFFFFFF)))


@compiled
def run(code, work, wide, flag, clipped, width, generator, which, begin):
    """Runs ``code`` for the first ``width`` columns of ``work``; column j draws from the generator
    ``which[begin + j]``. ``clipped[j]`` becomes True where a result is clipped by more than one; it
    may be empty. A sum or product is in ``wide`` first: the compiler sees that no row is written
    while it is read."""
    flag[:width] = False
    for k in range(code.shape[0]):
        opcode, to, shift = code[k, 0], code[k, 1], code[k, 4]
        a, b = work[code[k, 2]], work[code[k, 3]]
        if opcode == _LESS:
            for j in range(width):
                flag[j] = a[j] < b[j]
            continue
        if opcode == _MUL:
            half = np.int64(1) << (shift - 1)
            for j in range(width):
                wide[j] = (np.int64(a[j]) * np.int64(b[j]) + half) >> shift
        elif opcode == _ADD:
            for j in range(width):
                wide[j] = np.int64(a[j]) + np.int64(b[j])
        elif opcode == _SUB:
            for j in range(width):
                wide[j] = np.int64(a[j]) - np.int64(b[j])
        elif opcode == _MIN:
            for j in range(width):
                wide[j] = min(a[j], b[j])
        elif opcode == _MAX:
            for j in range(width):
                wide[j] = max(a[j], b[j])
        elif opcode == _SELECT:
            for j in range(width):
                wide[j] = a[j] if flag[j] else b[j]
        else:
            for j in range(width):
                wide[j] = _random(generator, which[begin + j])
        if len(clipped):
            for j in range(width):
                clipped[j] |= wide[j] < _LOW or wide[j] > _HIGH + 1
        result = work[to]
        for j in range(width):
            result[j] = np.int32(min(max(wide[j], _LOW), _HIGH))


@compiled
def _reset(code, work, wide, flag, state, length, generator, which, rows, scales, seen, scatter):
    """Begins episodes of the environments ``which``; ``seen[k]``, or with ``scatter``
    ``seen[which[k]]``, is the observation of environment ``which[k]``."""
    for begin in range(0, len(which), work.shape[1]):
        width = min(work.shape[1], len(which) - begin)
        run(code, work, wide, flag, flag[:0], width, generator, which, begin)
        for j in range(width):
            i = which[begin + j]
            length[i] = 0
            to = i if scatter else begin + j
            for k in range(state.shape[0]):
                state[k, i] = work[k, j]
            for k in range(len(rows)):
                seen[to, k] = np.float32(work[rows[k], j] * scales[k])


@compiled
def _step(code, reset_code, work, wide, flag, state, actions, length, limit, generator, rows,
          scales, reward_scale, autoreset, seen, reward, terminated, truncated, final):  # fmt: skip
    count, states = state.shape[1], state.shape[0]
    which = np.arange(count)
    ended = 0
    for begin in range(0, count, work.shape[1]):
        width = min(work.shape[1], count - begin)
        for k in range(states):
            work[k, :width] = state[k, begin : begin + width]
        for k in range(actions.shape[0]):
            work[states + k, :width] = actions[k, begin : begin + width]
        run(code, work, wide, flag, flag[:0], width, generator, which, begin)
        for k in range(states):
            state[k, begin : begin + width] = work[k, :width]
        for j in range(width):
            i = begin + j
            length[i] += 1
            reward[i] = work[states, j] * reward_scale
            terminated[i] = work[states + 1, j] != 0
            truncated[i] = length[i] >= limit
            for k in range(len(rows)):
                seen[i, k] = np.float32(work[rows[k], j] * scales[k])
    if autoreset:
        for i in range(count):
            if terminated[i] or truncated[i]:
                which[ended] = i
                ended += 1
                final[i] = seen[i]
        if ended:
            _reset(reset_code, work, wide, flag, state, length, generator, which[:ended], rows,
                   scales, seen, True)  # fmt: skip
    return ended
