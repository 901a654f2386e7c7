"""Batches of experiences as TRAIN takes them, and the TD errors that it gives for them."""

import numpy as np

from host.learner.experience_checks import check_experiences
from host.programs.launcher import aligned
from host.replay.experience import in_runs
from host.values import held
from hw.errors import UsageError
from hw.replay.records import HEADER, ITEM

__all__ = ["received_errors", "sent_batches"]


def sent_batches(learner, records, weights, count, batch_size):
    """The bytes of ``count`` batches, a HEADER and an experience for each record: uint8 [count,
    bytes], each batch padded to whole beats.

    records : records [count * batch_size], batch by batch
    weights : importance weights [count * batch_size], or None for ones

    The index in a header is the experience's position in ``records``. ValueError for another number
    of records or weights, for a weight that is negative or not finite, for a batch whose weights
    are all 0, and for an experience that the kernel refuses.
    """
    total = count * batch_size
    if len(records) != total:
        raise UsageError(
            f"experiences must be {total} ({count} batches of {batch_size}), not {len(records)}"
        )
    weights = held("weights", np.ones(total) if weights is None else weights, np.float32)
    if weights.shape != (total,):
        raise UsageError(f"weights must have shape ({total},), not {weights.shape}")
    if np.signbit(weights).any():  # of -0, too
        bad = int(np.argmax(np.signbit(weights)))
        raise UsageError(f"weights must not be negative, as {weights[bad]} at position {bad} is")
    # What is smaller than any normal number is 0 to the card.
    empty = (weights.reshape(count, batch_size) < np.finfo(np.float32).tiny).all(axis=1)
    if empty.any():
        raise UsageError(f"weights must not all be 0 in a batch, as in batch {np.argmax(empty)}")
    check_experiences(learner, records)
    whole = np.zeros(total, [("header", HEADER.dtype), ("experience", records.dtype)])
    whole["header"]["index"], whole["header"]["weight"] = np.arange(total), weights
    whole["experience"] = records
    return in_runs(whole, count)


def received_errors(results, count, batch_size):
    """The TD errors in ``results``, the bytes of ``count`` lists of items, each list padded to
    whole beats: float32 [count, batch_size]."""
    lists = results.reshape(count, aligned(batch_size * ITEM.size))[:, : batch_size * ITEM.size]
    return np.ascontiguousarray(lists).view(ITEM.dtype)["value"].view(np.float32).copy()
