"""Twin of ``hw.stream.split``."""

import numpy as np

__all__ = ["split"]


def split(words, count):
    """Return ``(narrow [m], last [m])``: ``count[k]`` narrow words of list k, low part first.

    ``words`` [n, parts] of any dtype; every list begins with a new word. ValueError if ``words``
    end too early.
    """
    words, count = np.asarray(words), np.asarray(count, dtype=np.int64)
    parts = words.shape[1]
    used = -(-count // parts)
    if used.sum() > len(words):
        raise ValueError(f"words must hold {used.sum()} words, not {len(words)}")
    begin = (np.cumsum(used) - used) * parts
    order = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    narrow = words.reshape(-1)[np.repeat(begin, count) + order]
    return narrow, order == np.repeat(count, count) - 1
