"""The compiled passes of ``host.replay.nstep``: a step of all environments into windows of rewards,
and windows that close as records of experiences.

Records and observations are rows of bytes, so that one compiled function serves every environment.
"""

import numpy as np

from sim.compiled import compiled

__all__ = ["close", "push"]


#: Rows of ``places``, int64 [5, 2]: first byte of a field in a record, and the byte after its last.
_OBS, _NEXT_OBS, _ACTION, _REWARD, _DISCOUNT = range(5)


@compiled
def push(windows, taken, last, cursor, opened, age, reward, gained, valid, terminated, truncated,
         powers, scale, clip, places):  # fmt: skip
    """Opens a window for each environment that is ``valid``, adds the rewards ``gained`` to all its
    open windows, and closes windows that are full or whose episode ended: the result of ``close``.

    windows : uint8 [environments * n, bytes of a record], with observation and action of each
    taken : uint8 [environments, bytes of a record], with both of this step, and its successor
    last : uint8 [environments, bytes of an observation], the newest successors
    cursor : int64 [environments], the slot of the next window, which is the oldest
    opened, age, reward : bool, int64, float64 [environments * n]
    gained, valid, terminated, truncated : float64, bool [environments], of the step
    powers : float64 [n + 1], of gamma
    scale, clip : float32 factor of returns; largest magnitude of a reward
    """
    count = len(cursor)
    n, total = len(opened) // count, 0
    ended = np.empty(count, np.bool_)
    for env in range(count):
        first, slot = env * n, env * n + cursor[env]
        for begin, end in (places[_OBS], places[_ACTION]):
            windows[slot, begin:end] = taken[env, begin:end]
        reward[slot], age[slot] = 0, 0
        opened[slot] |= valid[env]
        ended[env] = (terminated[env] | truncated[env]) & valid[env]
        if not valid[env]:
            continue
        last[env] = taken[env, places[_NEXT_OBS, 0] : places[_NEXT_OBS, 1]]
        gain = min(max(gained[env], -clip), clip)
        for slot in range(first, first + n):
            if opened[slot]:
                reward[slot] += powers[age[slot]] * gain
                age[slot] += 1
                total += (age[slot] == n) | ended[env]
        cursor[env] = (cursor[env] + 1) % n
    return close(windows, last, cursor, opened, age, reward, ended, terminated, total, powers,
                 scale, clip, places)  # fmt: skip


@compiled
def close(windows, last, cursor, opened, age, reward, ended, terminated, total, powers, scale,
          clip, places):  # fmt: skip
    """Closes the ``total`` open windows that are full or whose environment is one where ``ended``;
    returns their records, uint8 [total, bytes of a record], environment by environment, the oldest
    window first in each."""
    count = len(cursor)
    n, at = len(opened) // count, 0
    records = np.zeros((total, windows.shape[1]), np.uint8)
    numbers = np.empty((total, 2), np.float32)
    for env in range(count if total else 0):
        for k in range(n):
            slot = env * n + (cursor[env] + k) % n
            if not opened[slot] or not (age[slot] == n or ended[env]):
                continue
            opened[slot] = False
            for begin, end in (places[_OBS], places[_ACTION]):
                records[at, begin:end] = windows[slot, begin:end]
            records[at, places[_NEXT_OBS, 0] : places[_NEXT_OBS, 1]] = last[env]
            numbers[at, 0] = np.float32(reward[slot]) * scale
            numbers[at, 1] = 0 if terminated[env] and ended[env] else powers[age[slot]]
            at += 1
    raw = numbers.view(np.uint8)
    for k in range(total):
        records[k, places[_REWARD, 0] : places[_REWARD, 1]] = raw[k, :4]
        records[k, places[_DISCOUNT, 0] : places[_DISCOUNT, 1]] = raw[k, 4:]
    return records
