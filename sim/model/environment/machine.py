"""The twin of the barrel machine: words of an image in, words of commands in, items out.

It knows no clocks. Instructions run by ``twin.run``, for all environments at once; its
random words are the low halves of one SFC64's numbers.
"""

from dataclasses import dataclass

import numpy as np

from hw.errors import UsageError
from sim.model.environment.twin import DROPPED, decoded, operands, run

__all__ = ["Items", "Machine"]

_PLACES = 256
_STEP, _RESET, _BEGUN, _STEPPED, _ACTIONS, _STATE, _CONSTANTS = range(7)


@dataclass(frozen=True)
class Items:
    """The items of a BEGIN or STEP.

    word : int32 [environments, numbers]
        Numbers of the observation; after STEP the reward is the last one.
    fraction : int [numbers]
        Their fraction bits.
    terminated, truncated, clipped : bool [environments]
    """

    word: np.ndarray
    fraction: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    clipped: np.ndarray


class Machine:
    """The machine with ``count`` environments.

    Attributes
    ----------
    generator : uint64 [4, 1]
        State of NumPy's SFC64, whose numbers RANDOM takes.
    registers : int32 [33, count]
        The hardware's are undefined until they are written, these are 0; the last row has dropped
        results.
    """

    def __init__(self, count):
        self.generator = np.zeros((4, 1), np.uint64)
        self._memory = np.zeros((2, _PLACES), np.int64)
        # Registers, then constants; a copy for each environment.
        self._work = np.zeros((DROPPED + 1 + _PLACES, count), np.int32)
        self.registers, self._constants = np.split(self._work, [DROPPED + 1])
        self._sections, self._flag = {}, np.zeros(count, np.bool_)

    def load(self, words):
        """Takes the words of an image; UsageError if they are no whole sections."""
        at = 0
        while True:
            if at >= len(words):
                raise UsageError(f"words must have a section more, not end after {at} words")
            header = int(words[at])
            section, first, last = header & 7, header >> 3 & 255, header >> 11 & 255
            new = np.array(words[at + 1 : at + 2 + last - first], np.int64)
            if section > _CONSTANTS or first > last or len(new) != last - first + 1:
                raise UsageError(f"words must have a header at {at}, not {header:#x}")
            if section == _CONSTANTS:
                constants = new.astype(np.uint32).view(np.int32)
                self._constants[first : last + 1] = constants[:, None]
            else:
                self._memory[int(section > _RESET), first : last + 1] = new
            self._sections[section] = slice(first, last + 1)
            at += 1 + len(new)
            if not header >> 19 & 1:
                break
        if at != len(words):
            raise UsageError(f"words must end with the last section, not {len(words) - at} later")
        self._code = {
            section: decoded(self._memory[0, self._sections[section]])
            for section in (_STEP, _RESET)
            if section in self._sections
        }

    def begin(self, mask):
        """Resets the environments of ``mask``, bools [count]. Returns Items, a row for each."""
        which = np.flatnonzero(mask)
        clipped = self._run(_RESET, which)
        return self._sent(_BEGUN, which, clipped)

    def step(self, actions):
        """A step with the words ``actions``, int [count, actions]. Returns Items."""
        which = np.arange(self.registers.shape[1])
        self._receive(_ACTIONS, actions)
        clipped = self._run(_STEP, which)
        return self._sent(_STEPPED, which, clipped)

    def save(self):
        """The words of the states, int32 [count, words]."""
        return self._rows(np.arange(self.registers.shape[1]))[operands(self._list(_STATE))[0]].T

    def restore(self, words):
        """Takes the words of ``save``."""
        self._receive(_STATE, words)

    def _list(self, section):
        return self._memory[1, self._sections[section]]

    def _receive(self, section, words):
        to = self._list(section) >> 3 & 31
        self.registers[to] = np.asarray(words, np.int64).astype(np.int32).T

    def _rows(self, which):
        """Registers and constants of the environments ``which``."""
        whole = len(which) == self._work.shape[1]
        return self._work if whole else np.ascontiguousarray(self._work[:, which])

    def _run(self, section, which):
        """Runs a function for the environments ``which``; returns whether results were clipped."""
        work, count = self._rows(which), len(which)
        wide, clipped = np.zeros(count, np.int64), np.zeros(count, np.bool_)
        draws = np.zeros(count, np.int64)  # all from the one generator
        run(self._code[section], work, wide, self._flag, clipped, count, self.generator, draws, 0)
        if work is not self._work:
            self.registers[:, which] = work[: DROPPED + 1]
        return clipped

    def _sent(self, section, which, clipped):
        words, rows = self._list(section), self._rows(which)
        a, b = operands(words)
        flags = np.zeros((2, len(which)), np.bool_)
        if section == _STEPPED:
            flags[:] = rows[b[-1]] & 1, rows[b[-2]] >= 0
        return Items(rows[a].T.copy(), words >> 30, *flags, clipped)
